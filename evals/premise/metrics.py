"""The metrics of the premise judge (1.4): pure functions of its rows."""

from collections.abc import Iterable, Sequence

from evals.judging.case import Row
from evals.metrics import Histogram, Mean, Rate, histogram_of, mean_of, rate_of
from evals.premise.row import ConclusionRow
from evals.records import AnswerSource, Call, Record


class BundledByMinimality(Record):
    """The pass-1 bundled flag against minimality (1.4): one cell of the cross table."""

    bundled: bool
    minimality: Mean
    """Mean minimality of the conclusions with this flag."""
    single_claim: Rate
    """Share of them whose minimality lists at most one claim."""


class TokenTotals(Record):
    """Calls and tokens behind the rows, each request counted once."""

    calls: int
    calls_by_purpose: dict[str, int]
    calls_by_source: dict[str, int]
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    calls_without_usage: int
    """Answers whose origin states no token count: they are in no total above."""


class PremiseSummary(Record):
    """Every metric of 1.4 over one run's conclusions."""

    conclusions: int
    pass_rate: Rate
    mean_decontextuality: Mean
    mean_minimality: Mean
    mean_molecular: Mean
    failure_attribution_split: Histogram
    """Headline: open slots of failed conclusions by attribution; n counts failed conclusions."""
    failed_without_open_slot: int
    """Failed conclusions with nothing missing: they fail for what they say, not what they lack."""
    attribution_scope: Histogram
    label_histogram: Histogram
    """Free-text labels, exact strings, both passes."""
    time_status_histogram: Histogram
    failed_condition_histogram: Histogram
    """Which conditions of 1.3 failed, over unsound conclusions."""
    unsupported_kind_histogram: Histogram
    bundled_rate: Rate
    bundled_by_minimality: tuple[BundledByMinimality, ...]
    bad_timestamp_rate: Rate
    """Input quality, apart from the deriver's failures (1.3)."""
    token_range_rate: Rate
    """Share of conclusions of 8 to 25 words: a diagnostic, never a criterion."""
    unjudged_share: Rate
    unjudged_by_reason: dict[str, int]
    tokens: TokenTotals


TOKEN_RANGE = range(8, 26)
"""Words of a conclusion in the reported range, 8 to 25 (Component 1)."""
_SOURCES: tuple[AnswerSource, ...] = ("live", "store", "recording")


def premise_summary(rows: Sequence[ConclusionRow]) -> PremiseSummary:
    """Return every metric of the premise judge; the order of the rows does not matter.

    What a metric is counted over stands beside it as ``n``; conclusions that lack what it is made
    from are its ``unjudged``. A conclusion whose pass 2 has no answer still has a pass 1, so the
    metrics of pass 1 alone can have a larger ``n`` than the pass rate.
    """
    # Failed conclusions, and None for each that might be one but has no verdict.
    failed = [row for row in rows if row.verdict is None or not row.verdict.sound]
    return PremiseSummary(
        conclusions=len(rows),
        pass_rate=rate_of(None if row.verdict is None else row.verdict.sound for row in rows),
        mean_decontextuality=mean_of(
            None if row.pass_1 is None else row.pass_1.decontextuality for row in rows
        ),
        mean_minimality=mean_of(_minimality(row) for row in rows),
        mean_molecular=mean_of(row.molecular for row in rows),
        failure_attribution_split=histogram_of(
            None if row.verdict is None else [slot.attribution for slot in row.missing]
            for row in failed
        ),
        failed_without_open_slot=sum(
            1 for row in failed if row.verdict is not None and not row.missing
        ),
        attribution_scope=histogram_of(
            None if row.verdict is None else _scope(row) for row in failed
        ),
        label_histogram=histogram_of(None if row.verdict is None else row.labels for row in rows),
        time_status_histogram=histogram_of(
            None if row.time_status is None else [row.time_status] for row in rows
        ),
        failed_condition_histogram=histogram_of(
            None if row.verdict is None else row.verdict.failed_because for row in failed
        ),
        unsupported_kind_histogram=histogram_of(
            None
            if row.pass_2 is None
            else [element.kind for element in row.pass_2.unsupported_elements]
            for row in rows
        ),
        bundled_rate=rate_of(None if row.pass_1 is None else row.pass_1.bundled for row in rows),
        bundled_by_minimality=tuple(_bundled_cell(rows, bundled=flag) for flag in (False, True)),
        bad_timestamp_rate=rate_of(
            None if row.time_status is None else row.time_status == "ANCHORED_TO_BAD_TIMESTAMP"
            for row in rows
        ),
        token_range_rate=rate_of(row.token_count in TOKEN_RANGE for row in rows),
        unjudged_share=rate_of(row.unjudged is not None for row in rows),
        unjudged_by_reason=histogram_of(
            [] if row.unjudged is None else [row.unjudged.reason] for row in rows
        ).counts,
        tokens=token_totals(rows),
    )


def token_totals(rows: Iterable[Row]) -> TokenTotals:
    """Return the calls and tokens behind ``rows``: a request that several share counts once."""
    by_hash: dict[str, Call] = {}
    for call in (call for row in rows for call in row.calls):
        known = by_hash.get(call.request_hash)
        if known is None or _rank(call) < _rank(known):
            by_hash[call.request_hash] = call
    calls = list(by_hash.values())
    return TokenTotals(
        calls=len(calls),
        calls_by_purpose=histogram_of([call.purpose] for call in calls).counts,
        calls_by_source=histogram_of([call.source] for call in calls).counts,
        input_tokens=_stated(call.input_tokens for call in calls),
        cache_read_tokens=_stated(call.cache_read_tokens for call in calls),
        cache_write_tokens=_stated(call.cache_write_tokens for call in calls),
        output_tokens=_stated(call.output_tokens for call in calls),
        calls_without_usage=sum(1 for call in calls if call.input_tokens is None),
    )


def _stated(counts: Iterable[int | None]) -> int:
    return sum(count for count in counts if count is not None)


def _rank(call: Call) -> tuple[int, int]:
    # A request that one row paid for and a later one found in the store was paid for in this run.
    return _SOURCES.index(call.source), -call.attempts


def _bundled_cell(rows: Iterable[ConclusionRow], *, bundled: bool) -> BundledByMinimality:
    cell = [row for row in rows if row.pass_1 is not None and row.pass_1.bundled is bundled]
    return BundledByMinimality(
        bundled=bundled,
        minimality=mean_of(_minimality(row) for row in cell),
        single_claim=rate_of(
            None if row.minimality is None else len(row.minimality.claims) <= 1 for row in cell
        ),
    )


def _scope(row: ConclusionRow) -> list[str]:
    return [] if row.attribution_scope is None else [row.attribution_scope]


def _minimality(row: ConclusionRow) -> float | None:
    return None if row.minimality is None else row.minimality.minimality

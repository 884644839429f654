"""The metrics of the premise judge (1.4): pure functions of its rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypedDict

from evals.judging.tokens import TokenTotals, token_totals
from evals.metrics import Histogram, Mean, Rate, histogram_of, mean_of, rate_of
from evals.premise.row import ConclusionRow
from evals.premise.schema import TimeStatus
from evals.premise.slots import slot_name
from evals.records import Record, Unjudged


class BundledByMinimality(Record):
    """The pass-1 bundled flag against minimality (1.4): one cell of the cross table.

    Over the judged conclusions with this flag; ``unjudged`` are those without a minimality.
    """

    bundled: bool
    minimality: Mean
    single_claim: Rate
    """Share of them whose minimality lists at most one claim."""


class PremiseSummary(Record):
    """Every metric of 1.4 over one run's conclusions."""

    conclusions: int
    pass_rate: Rate
    mean_decontextuality: Mean
    mean_minimality: Mean
    mean_molecular: Mean
    failure_attribution_split: Histogram
    """Headline: open slots of failed conclusions by attribution; n counts failed conclusions."""
    failure_attribution_by_conclusion: Histogram
    """Failed conclusions, each in exactly one group, so that the counts sum to n. Where all its
    missing slots have one attribution: ``PRESENT_IN_WINDOW only``, ``ABSENT_FROM_WINDOW`` or
    ``ABSENT_EVERYWHERE``; where they have several: ``mixed``. Without a missing slot:
    ``unattributed`` where pass 1 left one open all the same, else ``no open slot``."""
    failed_without_open_slot: int
    """Failed conclusions in which neither pass finds an open slot: they fail for what they say, not
    for what they lack."""
    unattributed_slots: int
    """Open slots of pass 1 of failed conclusions that pass 2 does not repeat among the missing
    ones: nobody said where they could have been settled, so they are not in the split."""
    attribution_scope: Histogram
    """How far attribution looked, over failed conclusions with a missing slot; ``window`` also
    where the search of the earlier conversation gave no usable answer."""
    attribution_unjudged_by_reason: dict[str, int]
    """Failed conclusions whose search of the earlier conversation gave no usable answer."""
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
    minimality_unjudged_by_reason: dict[str, int]
    """Judged conclusions without a minimality."""
    tokens: TokenTotals


TOKEN_RANGE = range(8, 26)
"""Words of a conclusion in the reported range, 8 to 25 (Component 1)."""
PRESENT_ONLY, MIXED = "PRESENT_IN_WINDOW only", "mixed"
UNATTRIBUTED, NO_OPEN_SLOT = "unattributed", "no open slot"
_BAD_TIMESTAMP: TimeStatus = "ANCHORED_TO_BAD_TIMESTAMP"


def premise_summary(rows: Sequence[ConclusionRow]) -> PremiseSummary:
    """Return every metric of the premise judge; the order of the rows does not matter.

    What a metric is counted over stands beside it as ``n``. A conclusion without a verdict is in no
    metric but ``token_range_rate`` and ``unjudged_share``, even where one of its calls was answered
    (design section 3): it is everywhere among the ``unjudged``. The metrics of minimality count
    there, too, a judged conclusion whose minimality has no answer.
    """
    judged = [row for row in rows if row.verdict is not None]
    # Failed conclusions, and None for each that might be one but has no verdict.
    failed = [
        None if row.verdict is None else row
        for row in rows
        if row.verdict is None or not row.verdict.sound
    ]
    return PremiseSummary(
        conclusions=len(rows),
        pass_rate=rate_of(None if row.verdict is None else row.verdict.sound for row in rows),
        mean_decontextuality=mean_of(
            None if row.verdict is None or row.pass_1 is None else row.pass_1.decontextuality
            for row in rows
        ),
        mean_minimality=mean_of(_minimality(row) for row in rows),
        mean_molecular=mean_of(row.molecular for row in rows),
        **_attribution(failed),
        label_histogram=histogram_of(None if row.verdict is None else row.labels for row in rows),
        time_status_histogram=histogram_of(
            None if (status := _time_status(row)) is None else [status] for row in rows
        ),
        failed_condition_histogram=histogram_of(
            None if row is None or row.verdict is None else row.verdict.failed_because
            for row in failed
        ),
        unsupported_kind_histogram=histogram_of(
            None
            if row.verdict is None or row.pass_2 is None
            else [element.kind for element in row.pass_2.unsupported_elements]
            for row in rows
        ),
        bundled_rate=rate_of(
            None if row.verdict is None or row.pass_1 is None else row.pass_1.bundled
            for row in rows
        ),
        bundled_by_minimality=tuple(_bundled_cell(judged, bundled=flag) for flag in (False, True)),
        bad_timestamp_rate=rate_of(
            None if (status := _time_status(row)) is None else status == _BAD_TIMESTAMP
            for row in rows
        ),
        token_range_rate=rate_of(row.token_count in TOKEN_RANGE for row in rows),
        unjudged_share=rate_of(row.unjudged is not None for row in rows),
        unjudged_by_reason=_by_reason(row.unjudged for row in rows),
        minimality_unjudged_by_reason=_by_reason(row.minimality_unjudged for row in judged),
        tokens=token_totals(rows),
    )


class _Attribution(TypedDict):
    failure_attribution_split: Histogram
    failure_attribution_by_conclusion: Histogram
    failed_without_open_slot: int
    unattributed_slots: int
    attribution_scope: Histogram
    attribution_unjudged_by_reason: dict[str, int]


def _attribution(failed: Sequence[ConclusionRow | None]) -> _Attribution:
    known = [row for row in failed if row is not None]
    return _Attribution(
        failure_attribution_split=histogram_of(
            None if row is None else [slot.attribution for slot in row.missing] for row in failed
        ),
        failure_attribution_by_conclusion=histogram_of(
            None if row is None else [_attribution_of(row)] for row in failed
        ),
        failed_without_open_slot=sum(_attribution_of(row) == NO_OPEN_SLOT for row in known),
        unattributed_slots=sum(map(_unattributed, known)),
        attribution_scope=histogram_of(None if row is None else _scope(row) for row in failed),
        attribution_unjudged_by_reason=_by_reason(row.attribution_unjudged for row in known),
    )


def _attribution_of(row: ConclusionRow) -> str:
    """Return the one group of ``failure_attribution_by_conclusion`` that a conclusion is in."""
    found = {slot.attribution for slot in row.missing}
    if not found:
        return UNATTRIBUTED if _unattributed(row) else NO_OPEN_SLOT
    if len(found) > 1:
        return MIXED
    only = found.pop()
    return PRESENT_ONLY if only == "PRESENT_IN_WINDOW" else only


def _unattributed(row: ConclusionRow) -> int:
    """Return how many of pass 1's open slots are not among ``missing``, by their bare names."""
    opened = () if row.pass_1 is None else row.pass_1.unknown_slots
    named = Counter(slot_name(item.slot) for item in row.missing)
    return (Counter(slot_name(item.slot) for item in opened) - named).total()


def _bundled_cell(judged: Iterable[ConclusionRow], *, bundled: bool) -> BundledByMinimality:
    cell = [row for row in judged if row.pass_1 is not None and row.pass_1.bundled is bundled]
    return BundledByMinimality(
        bundled=bundled,
        minimality=mean_of(_minimality(row) for row in cell),
        single_claim=rate_of(
            None if row.minimality is None else len(row.minimality.claims) <= 1 for row in cell
        ),
    )


def _scope(row: ConclusionRow) -> list[str]:
    return [] if row.attribution_scope is None else [row.attribution_scope]


def _time_status(row: ConclusionRow) -> TimeStatus | None:
    return None if row.verdict is None else row.time_status


def _minimality(row: ConclusionRow) -> float | None:
    return None if row.verdict is None or row.minimality is None else row.minimality.minimality


def _by_reason(unjudged: Iterable[Unjudged | None]) -> dict[str, int]:
    return histogram_of([] if item is None else [item.reason] for item in unjudged).counts

"""The metrics of the premise judge (1.4): pure functions of its rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from evals.judging.tokens import TokenFold, TokenTotals
from evals.metrics import Histogram, HistogramFold, Mean, Rate, Tally
from evals.premise.row import ConclusionRow
from evals.premise.schema import TimeStatus
from evals.premise.slots import slot_name
from evals.premise.verdict import Verdict
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


def premise_summary(rows: Iterable[ConclusionRow]) -> PremiseSummary:
    """Return every metric of the premise judge; the order of the rows does not matter.

    What a metric is counted over stands beside it as ``n``. A conclusion without a verdict is in no
    metric but ``token_range_rate`` and ``unjudged_share``, even where one of its calls was answered
    (design section 3): it is everywhere among the ``unjudged``. The metrics of minimality count
    there, too, a judged conclusion whose minimality has no answer.

    Args:
        rows: each is looked at once, and not kept.
    """
    fold = _Fold()
    for row in rows:
        fold.add(row)
    return fold.result()


class _Fold:
    """A ``PremiseSummary`` in the making, conclusion by conclusion."""

    def __init__(self) -> None:
        self._conclusions = 0
        self._of_all = Tally(rates=_RATES, means=_MEANS, histograms=_HISTOGRAMS)
        self._of_failed = Tally(histograms=_OF_FAILED)
        self._unattributed = self._without_open_slot = 0
        self._reasons = {name: HistogramFold() for name in _REASONS}
        self._cells = {flag: Tally(rates=_CELL_RATES, means=_CELL_MEANS) for flag in (False, True)}
        self._tokens = TokenFold()

    def add(self, row: ConclusionRow) -> None:
        self._conclusions += 1
        self._of_all.add(row)
        self._tokens.add(row)
        self._note("unjudged_by_reason", row.unjudged)
        if row.verdict is None:
            self._of_failed.add(row)  # it might be one
            return
        self._note("minimality_unjudged_by_reason", row.minimality_unjudged)
        if row.pass_1 is not None:
            self._cells[row.pass_1.bundled].add(row)
        if not row.verdict.sound:
            self._of_failed.add(row)
            self._unattributed += _unattributed(row)
            self._without_open_slot += _attribution_of(row) == NO_OPEN_SLOT
            self._note("attribution_unjudged_by_reason", row.attribution_unjudged)

    def result(self) -> PremiseSummary:
        return PremiseSummary.model_validate(
            {
                "conclusions": self._conclusions,
                **self._of_all.figures(),
                **self._of_failed.figures(),
                "failed_without_open_slot": self._without_open_slot,
                "unattributed_slots": self._unattributed,
                "bundled_by_minimality": tuple(
                    BundledByMinimality.model_validate({"bundled": flag} | cell.figures())
                    for flag, cell in self._cells.items()
                ),
                **{name: fold.result().counts for name, fold in self._reasons.items()},
                "tokens": self._tokens.result(),
            }
        )

    def _note(self, name: str, unjudged: Unjudged | None) -> None:
        if unjudged is not None:
            self._reasons[name].add([unjudged.reason])


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


def _of_judged(
    of: Callable[[Verdict, ConclusionRow], Sequence[str]],
) -> Callable[[ConclusionRow], Sequence[str] | None]:
    return lambda row: None if row.verdict is None else of(row.verdict, row)


def _scope(row: ConclusionRow) -> list[str]:
    return [] if row.attribution_scope is None else [row.attribution_scope]


def _time_status(row: ConclusionRow) -> TimeStatus | None:
    return None if row.verdict is None else row.time_status


def _minimality(row: ConclusionRow) -> float | None:
    return None if row.verdict is None or row.minimality is None else row.minimality.minimality


def _time_statuses(row: ConclusionRow) -> list[str] | None:
    status = _time_status(row)
    return None if status is None else [status]


def _unsupported_kinds(row: ConclusionRow) -> list[str] | None:
    if row.verdict is None or row.pass_2 is None:
        return None
    return [element.kind for element in row.pass_2.unsupported_elements]


def _is_bundled(row: ConclusionRow) -> bool | None:
    return None if row.verdict is None or row.pass_1 is None else row.pass_1.bundled


def _decontextuality(row: ConclusionRow) -> float | None:
    return None if row.verdict is None or row.pass_1 is None else row.pass_1.decontextuality


def _has_bad_timestamp(row: ConclusionRow) -> bool | None:
    status = _time_status(row)
    return None if status is None else status == _BAD_TIMESTAMP


def _is_single_claim(row: ConclusionRow) -> bool | None:
    return None if row.minimality is None else len(row.minimality.claims) <= 1


# What each metric takes of a conclusion; None: it is unjudged there.
_RATES: dict[str, Callable[[ConclusionRow], bool | None]] = {
    "pass_rate": lambda row: None if row.verdict is None else row.verdict.sound,
    "bundled_rate": _is_bundled,
    "bad_timestamp_rate": _has_bad_timestamp,
    "token_range_rate": lambda row: row.token_count in TOKEN_RANGE,
    "unjudged_share": lambda row: row.unjudged is not None,
}
_MEANS: dict[str, Callable[[ConclusionRow], float | None]] = {
    "mean_decontextuality": _decontextuality,
    "mean_minimality": _minimality,
    "mean_molecular": lambda row: row.molecular,
}
_HISTOGRAMS: dict[str, Callable[[ConclusionRow], Sequence[str] | None]] = {
    "label_histogram": lambda row: None if row.verdict is None else row.labels,
    "time_status_histogram": _time_statuses,
    "unsupported_kind_histogram": _unsupported_kinds,
}
_OF_FAILED: dict[str, Callable[[ConclusionRow], Sequence[str] | None]] = {
    "failed_condition_histogram": _of_judged(lambda verdict, _: verdict.failed_because),
    "failure_attribution_split": _of_judged(
        lambda _, row: [slot.attribution for slot in row.missing]
    ),
    "failure_attribution_by_conclusion": _of_judged(lambda _, row: [_attribution_of(row)]),
    "attribution_scope": _of_judged(lambda _, row: _scope(row)),
}
"""Of failed conclusions, and of those that might be one but have no verdict."""
_CELL_RATES: dict[str, Callable[[ConclusionRow], bool | None]] = {"single_claim": _is_single_claim}
_CELL_MEANS: dict[str, Callable[[ConclusionRow], float | None]] = {"minimality": _minimality}
_REASONS = (
    "unjudged_by_reason",
    "minimality_unjudged_by_reason",
    "attribution_unjudged_by_reason",
)

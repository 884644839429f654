"""The metrics of the set-level bench (2.2): pure functions of its rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from evals.judging.tokens import TokenFold, TokenTotals
from evals.metrics import Histogram, HistogramFold, Mean, Rate, RateFold, Tally
from evals.records import Record
from evals.set_level.groups import merged
from evals.set_level.row import SetLevelRow


class SetLevelSummary(Record):
    """Redundancy and contradiction in time over one run's batches."""

    batches: int
    """Windows with at least one conclusion."""
    conclusions: int
    redundancy_rate: Rate
    """Conclusions that could be dropped, of those in judged batches: those in redundancy groups,
    less one that stays for each distinct group. Exact where groups do not overlap. Where they do it
    is a lower bound, for one conclusion may stay for several groups. The conclusions of unjudged
    batches are its unjudged."""
    string_redundancy_rate: Rate
    """The same over the repeats found without a judge: it needs none, so it is never unjudged. Read
    beside the other: it finds repeats in the same words alone, and takes two long words one letter
    apart for one (``evals.set_level.repeats``)."""
    redundancy_groups_by_size: Histogram
    """Number of conclusions in a group, as text -> groups, as the judge gave them, the same members
    counted once; n counts judged batches."""
    contradictions_per_window: Mean
    """TEMPORAL_CONFUSION issues a judged batch."""
    issues_by_severity: Histogram
    """Both kinds; n counts judged batches."""
    string_repeat_pairs: int
    """Pairs of conclusions of a judged batch that repeat each other word by word."""
    string_repeats_missed_by_judge: int
    """Those of them that the judge's redundancy groups do not hold together, in one group or
    through groups that overlap: the check on it. What is
    left is a miss of the judge, or two long names one letter apart; a person can tell."""
    set_level_unjudged_share: Rate
    """Of batches."""
    unjudged_by_reason: dict[str, int]
    tokens: TokenTotals


def set_level_summary(rows: Iterable[SetLevelRow]) -> SetLevelSummary:
    """Return every metric of the set-level bench; the order of the rows does not matter.

    Args:
        rows: each is looked at once, and not kept.
    """
    batches = conclusions = pairs = missed = 0
    of_batches = Tally(rates=_RATES, means=_MEANS, histograms=_HISTOGRAMS)
    judge, strings, reasons, tokens = RateFold(), RateFold(), HistogramFold(), TokenFold()
    for row in rows:
        batches += 1
        conclusions += len(row.conclusion_ids)
        of_batches.add(row)
        tokens.add(row)
        reasons.add([] if row.unjudged is None else [row.unjudged.reason])
        for fold, groups in ((judge, row.redundancy_groups), (strings, row.string_repeats)):
            for drop in _drops(row, groups):
                fold.add(drop)
        if row.issues is not None:
            repeats = _pairs(row.string_repeats)
            pairs += len(repeats)
            missed += len(repeats - _pairs(_connected(row)))
    return SetLevelSummary.model_validate(
        {
            "batches": batches,
            "conclusions": conclusions,
            "redundancy_rate": judge.result(),
            "string_redundancy_rate": strings.result(),
            **of_batches.figures(),
            "string_repeat_pairs": pairs,
            "string_repeats_missed_by_judge": missed,
            "unjudged_by_reason": reasons.result().counts,
            "tokens": tokens.result(),
        }
    )


def _drops(row: SetLevelRow, groups: tuple[tuple[str, ...], ...] | None) -> Iterator[bool | None]:
    """Yield one outcome a conclusion: whether it could go; None where that is not known."""
    count = len(row.conclusion_ids)
    if groups is None:
        yield from [None] * count
        return
    going = max(0, len(set().union(*groups)) - len(groups))
    yield from [True] * going
    yield from [False] * (count - going)


def _connected(row: SetLevelRow) -> tuple[tuple[str, ...], ...]:
    return merged(row.redundancy_groups or (), row.conclusion_ids)


def _sizes(groups: tuple[tuple[str, ...], ...] | None) -> list[str] | None:
    return None if groups is None else [str(len(group)) for group in groups]


def _pairs(groups: Sequence[Sequence[str]]) -> set[frozenset[str]]:
    return {frozenset(pair) for group in groups for pair in combinations(group, 2)}


def _severities(row: SetLevelRow) -> list[str] | None:
    return None if row.issues is None else [issue.severity for issue in row.issues]


# What each metric takes of a batch; None: it is unjudged there.
_RATES: dict[str, Callable[[SetLevelRow], bool | None]] = {
    "set_level_unjudged_share": lambda row: row.unjudged is not None,
}
_MEANS: dict[str, Callable[[SetLevelRow], float | None]] = {
    "contradictions_per_window": lambda row: row.contradictions,
}
_HISTOGRAMS: dict[str, Callable[[SetLevelRow], Sequence[str] | None]] = {
    "redundancy_groups_by_size": lambda row: _sizes(row.redundancy_groups),
    "issues_by_severity": _severities,
}

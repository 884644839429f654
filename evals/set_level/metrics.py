"""The metrics of the set-level bench (2.2): pure functions of its rows."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from evals.judging.tokens import TokenTotals, token_totals
from evals.metrics import Histogram, Mean, Rate, histogram_of, mean_of, rate_of
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


def set_level_summary(rows: Sequence[SetLevelRow]) -> SetLevelSummary:
    """Return every metric of the set-level bench; the order of the rows does not matter."""
    judged = [row for row in rows if row.issues is not None]
    return SetLevelSummary(
        batches=len(rows),
        conclusions=sum(len(row.conclusion_ids) for row in rows),
        redundancy_rate=rate_of(
            drop for row in rows for drop in _drops(row, row.redundancy_groups)
        ),
        string_redundancy_rate=rate_of(
            drop for row in rows for drop in _drops(row, row.string_repeats)
        ),
        redundancy_groups_by_size=histogram_of(_sizes(row.redundancy_groups) for row in rows),
        contradictions_per_window=mean_of(row.contradictions for row in rows),
        issues_by_severity=histogram_of(
            None if row.issues is None else [issue.severity for issue in row.issues] for row in rows
        ),
        string_repeat_pairs=sum(len(_pairs(row.string_repeats)) for row in judged),
        string_repeats_missed_by_judge=sum(
            len(_pairs(row.string_repeats) - _pairs(_connected(row))) for row in judged
        ),
        set_level_unjudged_share=rate_of(row.unjudged is not None for row in rows),
        unjudged_by_reason=histogram_of(
            [] if row.unjudged is None else [row.unjudged.reason] for row in rows
        ).counts,
        tokens=token_totals(rows),
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

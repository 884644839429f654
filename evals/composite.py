"""Quality and coverage together (3.6): a gold fact counts as covered by sound conclusions only.

Matching is charitable: "he works at Google" covers "User works at Google", however badly it stands
alone. The composite takes that charity back, so coverage and pass rate are never read without it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from evals.coverage.row import CoverageRow, GoldFact
from evals.coverage.schema import Importance, MatchStatus
from evals.coverage.share import Share, WeightedFact, share_of
from evals.coverage.weights import credit_of, weight_of
from evals.policy import CoveragePolicy
from evals.premise.row import ConclusionRow
from evals.records import Record

QualityStatus = Literal["COVERED", "PARTIAL", "MISSING", "UNKNOWN"]
"""A match status once the verdicts are in. UNKNOWN: it was COVERED, and nobody knows how well."""


class FailedConclusion(Record):
    """An unsound conclusion that a gold fact was covered by."""

    conclusion_id: str
    text: str
    failed_because: tuple[str, ...]
    """The conditions of 1.3 that did not hold."""


class LostFact(Record):
    """A gold fact that was COVERED and is PARTIAL at best, for all that covers it is unsound."""

    window_id: str
    gold_id: str
    peer_id: str
    fact: str
    importance: Importance
    requires_inference: bool
    failed: tuple[FailedConclusion, ...]
    """All its covering conclusions: at least one."""


class WindowPoint(Record):
    """One window in the scatter of quality against coverage."""

    window_id: str
    pass_rate: float | None
    """Sound conclusions over judged ones, 0 to 1; None where none is judged."""
    conclusions_judged: int
    conclusions_unjudged: int
    coverage_explicit: float | None
    """None without a matched explicit fact of a weight above 0."""
    quality_coverage: float | None
    """As ``coverage_explicit``; None, too, where any such fact is unknown."""
    facts_unknown: int
    """Explicit facts of a weight above 0 that are unknown."""


class CompositeSummary(Record):
    """The composite over one run."""

    quality_coverage: Share
    """Over the explicit gold facts. Where any of a weight above 0 is unknown, ``value``, ``low``
    and ``high`` are None: what is known of the others is no estimate of it, for MISSING facts are
    always known. ``earned``, ``weight`` and ``n`` then cover the known facts; ``unjudged`` holds
    unmatched and unknown ones."""
    quality_coverage_worst: Share
    """The same with every unknown fact PARTIAL, as if all that covers it were unsound: the true
    value is not below it. Equal to ``quality_coverage`` where nothing is unknown."""
    quality_coverage_best: Share
    """The same with every unknown fact COVERED: the true value is not above it."""
    quality_coverage_implicit: Share
    """As ``quality_coverage``, over the facts that require an inference (3.2): reported, not the
    deriver's score."""
    facts_covered: int
    """COVERED by matching, of any importance: the sum of the next three."""
    facts_kept: int
    """By a sound conclusion at least."""
    facts_lost: int
    """By unsound conclusions alone: ``lost_facts``."""
    facts_unknown: int
    """By no sound conclusion, and at least one has no verdict."""
    lost_facts: tuple[LostFact, ...]
    """By window and gold id, heaviest importance first within a window."""
    points: tuple[WindowPoint, ...]
    """Every window with a row of either instrument, by id."""


def composite(
    coverage_rows: Sequence[CoverageRow],
    conclusion_rows: Sequence[ConclusionRow],
    policy: CoveragePolicy,
) -> CompositeSummary:
    """Return quality x coverage over one run; the order of the rows does not matter.

    A COVERED fact stays COVERED where any conclusion that covers it is sound. It is PARTIAL where
    all of them are unsound, and unknown where none is sound and one or more has no verdict:
    unjudged, or without a row because the premise suite did not run it. A PARTIAL fact stays
    PARTIAL whatever its verdicts: that is the least the specification takes a fact down to.

    Only COVERED facts can be unknown. A share without them would leave MISSING ones in its
    denominator, and could fall below anything that the missing verdicts can bring. So
    ``quality_coverage`` is no number where a fact of a weight above 0 is unknown, and
    ``quality_coverage_worst`` and ``quality_coverage_best`` bound it.
    """
    verdicts = {
        (row.provenance.window_id, row.conclusion_id): row
        for row in conclusion_rows
        if row.verdict is not None
    }
    windows = [_JudgedWindow(row, verdicts) for row in coverage_rows]
    facts = [fact for window in windows for fact in window.facts or ()]
    covered = [item.status for item in facts if item.fact.status == "COVERED"]
    explicit = _bounded(windows, policy, implicit=False)
    return CompositeSummary(
        quality_coverage=explicit.share,
        quality_coverage_worst=explicit.worst,
        quality_coverage_best=explicit.best,
        quality_coverage_implicit=_bounded(windows, policy, implicit=True).share,
        facts_covered=len(covered),
        facts_kept=covered.count("COVERED"),
        facts_lost=covered.count("PARTIAL"),
        facts_unknown=covered.count("UNKNOWN"),
        lost_facts=_lost_facts(facts, policy),
        points=_points(windows, conclusion_rows, policy),
    )


class _JudgedFact:
    """A gold fact with the verdicts of the conclusions that cover it."""

    def __init__(
        self,
        window_id: str,
        fact: GoldFact,
        verdicts: Mapping[tuple[str, str], ConclusionRow],
    ) -> None:
        self.window_id = window_id
        self.fact = fact
        found = (verdicts.get((window_id, name)) for name in fact.covering)
        self.judged = [row for row in found if row is not None]

    @property
    def status(self) -> QualityStatus | None:
        """None where matching is unjudged."""
        if self.fact.status != "COVERED":
            return self.fact.status
        if any(row.verdict is not None and row.verdict.sound for row in self.judged):
            return "COVERED"
        return "PARTIAL" if len(self.judged) == len(self.fact.covering) else "UNKNOWN"

    def quality(self, policy: CoveragePolicy, unknown_as: MatchStatus | None) -> WeightedFact:
        status = self.status
        known = unknown_as if status == "UNKNOWN" else status
        return weight_of(self.fact.importance, policy), credit_of(known, policy)

    def coverage(self, policy: CoveragePolicy) -> WeightedFact:
        return weight_of(self.fact.importance, policy), credit_of(self.fact.status, policy)

    @property
    def lost(self) -> bool:
        return self.fact.status == "COVERED" and self.status == "PARTIAL"


class _JudgedWindow:
    """The gold facts of one window; None where its gold is unjudged."""

    def __init__(self, row: CoverageRow, verdicts: Mapping[tuple[str, str], ConclusionRow]) -> None:
        self.window_id = row.window_id
        self.facts = (
            None
            if row.gold is None
            else [_JudgedFact(row.window_id, fact, verdicts) for fact in row.gold]
        )

    def quality(
        self, policy: CoveragePolicy, unknown_as: MatchStatus | None, *, implicit: bool
    ) -> list[WeightedFact] | None:
        facts = self._split(implicit=implicit)
        return None if facts is None else [fact.quality(policy, unknown_as) for fact in facts]

    def coverage(self, policy: CoveragePolicy) -> list[WeightedFact] | None:
        facts = self._split(implicit=False)
        return None if facts is None else [fact.coverage(policy) for fact in facts]

    def _split(self, *, implicit: bool) -> list[_JudgedFact] | None:
        if self.facts is None:
            return None
        return [fact for fact in self.facts if fact.fact.requires_inference is implicit]


class _Bounded(NamedTuple):
    share: Share
    """Without a value where any weighted fact is unknown."""
    worst: Share
    best: Share

    @property
    def unknown(self) -> int:
        return self.best.n - self.share.n


def _bounded(
    windows: Sequence[_JudgedWindow | None], policy: CoveragePolicy, *, implicit: bool
) -> _Bounded:
    def with_unknown_as(status: MatchStatus | None) -> Share:
        return share_of(
            None if window is None else window.quality(policy, status, implicit=implicit)
            for window in windows
        )

    found = _Bounded(with_unknown_as(None), with_unknown_as("PARTIAL"), with_unknown_as("COVERED"))
    if not found.unknown:
        return found
    no_number = {"value": None, "low": None, "high": None}
    return found._replace(share=found.share.model_copy(update=no_number))


def _lost_facts(judged: Iterable[_JudgedFact], policy: CoveragePolicy) -> tuple[LostFact, ...]:
    lost = [item for item in judged if item.lost]
    lost.sort(
        key=lambda item: (
            item.window_id,
            -weight_of(item.fact.importance, policy),
            len(item.fact.gold_id),  # g2 before g10
            item.fact.gold_id,
        )
    )
    return tuple(
        LostFact(
            window_id=item.window_id,
            gold_id=item.fact.gold_id,
            peer_id=item.fact.peer_id,
            fact=item.fact.fact,
            importance=item.fact.importance,
            requires_inference=item.fact.requires_inference,
            failed=tuple(map(_failed, item.judged)),
        )
        for item in lost
    )


def _failed(row: ConclusionRow) -> FailedConclusion:
    assert row.verdict is not None  # only judged conclusions can fail
    return FailedConclusion(
        conclusion_id=row.conclusion_id,
        text=row.text,
        failed_because=row.verdict.failed_because,
    )


def _points(
    windows: Iterable[_JudgedWindow],
    conclusion_rows: Iterable[ConclusionRow],
    policy: CoveragePolicy,
) -> tuple[WindowPoint, ...]:
    conclusions: dict[str, list[ConclusionRow]] = defaultdict(list)
    for row in conclusion_rows:
        conclusions[row.provenance.window_id].append(row)
    known = {window.window_id: window for window in windows}
    return tuple(
        _point(window_id, conclusions[window_id], known.get(window_id), policy)
        for window_id in sorted({*conclusions, *known})
    )


def _point(
    window_id: str,
    conclusions: Sequence[ConclusionRow],
    window: _JudgedWindow | None,
    policy: CoveragePolicy,
) -> WindowPoint:
    sound = [row.verdict.sound for row in conclusions if row.verdict is not None]
    coverage = share_of([None if window is None else window.coverage(policy)])
    quality = _bounded([window], policy, implicit=False)
    return WindowPoint(
        window_id=window_id,
        pass_rate=sum(sound) / len(sound) if sound else None,
        conclusions_judged=len(sound),
        conclusions_unjudged=len(conclusions) - len(sound),
        coverage_explicit=coverage.value,
        quality_coverage=quality.share.value,
        facts_unknown=quality.unknown,
    )

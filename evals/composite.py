"""Quality and coverage together (3.6): a gold fact counts as covered by sound conclusions only.

Matching is charitable: "he works at Google" covers "User works at Google", however badly it stands
alone. The composite takes that charity back, so coverage and pass rate are never read without it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from evals.coverage.row import CoverageRow, GoldFact
from evals.coverage.schema import Importance, MatchStatus
from evals.coverage.share import Share, ShareFold, WeightedFact, share_of
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
    coverage_rows: Iterable[CoverageRow],
    conclusion_rows: Iterable[ConclusionRow],
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

    Args:
        coverage_rows: each is looked at once, and not kept.
        conclusion_rows: likewise; the text of unsound ones is kept.
        policy: weights and thresholds.
    """
    verdicts: defaultdict[str, _Verdicts] = defaultdict(_Verdicts)
    for row in conclusion_rows:
        verdicts[row.provenance.window_id].add(row)
    fold = _Fold(policy)
    for coverage_row in coverage_rows:
        fold.add(_JudgedWindow(coverage_row, verdicts[coverage_row.window_id]))
    return fold.result(verdicts)


class _Unsound(NamedTuple):
    """What is told of a conclusion that a fact was lost with."""

    text: str
    failed_because: tuple[str, ...]


class _Verdicts:
    """The verdicts on the conclusions of one window."""

    def __init__(self) -> None:
        self.judged: dict[str, _Unsound | None] = {}
        """Conclusion id -> what is told of it; None for a sound one."""
        self.rows = self.rows_judged = self.rows_sound = 0

    def add(self, row: ConclusionRow) -> None:
        self.rows += 1
        if row.verdict is None:
            return
        sound = row.verdict.sound
        self.rows_judged += 1
        self.rows_sound += sound
        told = None if sound else _Unsound(row.text, row.verdict.failed_because)
        self.judged[row.conclusion_id] = told


class _Fold:
    """A ``CompositeSummary`` in the making, window by window."""

    def __init__(self, policy: CoveragePolicy) -> None:
        self._policy = policy
        self._explicit, self._implicit = _BoundedFold(policy), _BoundedFold(policy)
        self._covered = Counter[QualityStatus | None]()
        self._lost: list[LostFact] = []
        self._points: dict[str, WindowPoint] = {}

    def add(self, window: "_JudgedWindow") -> None:
        self._explicit.add(window.split(implicit=False))
        self._implicit.add(window.split(implicit=True))
        self._points[window.window_id] = _point(
            window.window_id, window.verdicts, window, self._policy
        )
        for fact in window.facts or ():
            self._covered[fact.status] += fact.fact.status == "COVERED"
            if fact.lost:
                self._lost.append(_lost_fact(window.window_id, fact))

    def result(self, verdicts: Mapping[str, _Verdicts]) -> CompositeSummary:
        explicit = self._explicit.result()
        for window_id in verdicts.keys() - self._points.keys():
            self._points[window_id] = _point(window_id, verdicts[window_id], None, self._policy)
        return CompositeSummary(
            quality_coverage=explicit.share,
            quality_coverage_worst=explicit.worst,
            quality_coverage_best=explicit.best,
            quality_coverage_implicit=self._implicit.result().share,
            facts_covered=self._covered.total(),
            facts_kept=self._covered["COVERED"],
            facts_lost=self._covered["PARTIAL"],
            facts_unknown=self._covered["UNKNOWN"],
            lost_facts=tuple(sorted(self._lost, key=self._place)),
            points=tuple(self._points[window_id] for window_id in sorted(self._points)),
        )

    def _place(self, lost: LostFact) -> tuple[str, float, int, str]:
        weight = weight_of(lost.importance, self._policy)
        return lost.window_id, -weight, len(lost.gold_id), lost.gold_id  # g2 before g10


class _JudgedFact:
    """A gold fact with the verdicts on the conclusions that cover it."""

    def __init__(self, fact: GoldFact, verdicts: _Verdicts) -> None:
        self.fact = fact
        self.judged = [
            (name, verdicts.judged[name]) for name in fact.covering if name in verdicts.judged
        ]

    @property
    def status(self) -> QualityStatus | None:
        """None where matching is unjudged."""
        if self.fact.status != "COVERED":
            return self.fact.status
        if any(unsound is None for _, unsound in self.judged):
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

    def __init__(self, row: CoverageRow, verdicts: _Verdicts) -> None:
        self.window_id = row.window_id
        self.verdicts = verdicts
        self.facts = (
            None if row.gold is None else [_JudgedFact(fact, verdicts) for fact in row.gold]
        )

    def split(self, *, implicit: bool) -> list[_JudgedFact] | None:
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


_UNKNOWN_AS: tuple[MatchStatus | None, ...] = (None, "PARTIAL", "COVERED")
"""How an unknown fact is read in each share of ``_Bounded``; None: it is in none."""


class _BoundedFold:
    def __init__(self, policy: CoveragePolicy) -> None:
        self._policy = policy
        self._folds = (ShareFold(), ShareFold(), ShareFold())

    def add(self, facts: Sequence[_JudgedFact] | None) -> None:
        for fold, status in zip(self._folds, _UNKNOWN_AS, strict=True):
            fold.add(None if facts is None else [f.quality(self._policy, status) for f in facts])

    def result(self) -> _Bounded:
        found = _Bounded(*(fold.result() for fold in self._folds))
        if not found.unknown:
            return found
        no_number = {"value": None, "low": None, "high": None}
        return found._replace(share=found.share.model_copy(update=no_number))


def _lost_fact(window_id: str, item: _JudgedFact) -> LostFact:
    return LostFact(
        window_id=window_id,
        gold_id=item.fact.gold_id,
        peer_id=item.fact.peer_id,
        fact=item.fact.fact,
        importance=item.fact.importance,
        requires_inference=item.fact.requires_inference,
        failed=tuple(
            FailedConclusion(
                conclusion_id=name, text=unsound.text, failed_because=unsound.failed_because
            )
            for name, unsound in item.judged
            if unsound is not None
        ),
    )


def _point(
    window_id: str, verdicts: _Verdicts, window: _JudgedWindow | None, policy: CoveragePolicy
) -> WindowPoint:
    facts = None if window is None else window.split(implicit=False)
    coverage = share_of([None if facts is None else [fact.coverage(policy) for fact in facts]])
    bounded = _BoundedFold(policy)
    bounded.add(facts)
    quality = bounded.result()
    judged = verdicts.rows_judged
    return WindowPoint(
        window_id=window_id,
        pass_rate=verdicts.rows_sound / judged if judged else None,
        conclusions_judged=judged,
        conclusions_unjudged=verdicts.rows - judged,
        coverage_explicit=coverage.value,
        quality_coverage=quality.share.value,
        facts_unknown=quality.unknown,
    )

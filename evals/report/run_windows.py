"""The rows of a run by window, with what the composite makes of each gold fact."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from evals.composite import CompositeSummary, WindowPoint, composite
from evals.coverage.row import CoverageRow, GoldFact
from evals.judging.case import Row
from evals.policy import CoveragePolicy
from evals.premise.row import ConclusionRow
from evals.records import Unjudged, Window
from evals.report.shared_values import window_of
from evals.runs.stored import rows_by_window, rows_of
from evals.set_level.row import SetLevelRow

CompositeWord = Literal["kept", "lost", "unknown"]
"""What became of a COVERED fact: a sound conclusion covers it, unsound ones alone, or nobody knows
(3.6)."""


@dataclass
class RunWindow:
    """One window with the rows about it; None and empty where an instrument has none."""

    window: Window
    point: WindowPoint
    """Its pass rate and coverage."""
    verdicts: dict[str, ConclusionRow] = field(default_factory=dict)
    """Conclusion id -> the premise judge's row."""
    coverage: CoverageRow | None = None
    set_level: SetLevelRow | None = None
    words: dict[str, CompositeWord] = field(default_factory=dict)
    """Gold id -> the composite's word, of COVERED facts."""

    @property
    def unjudged_steps(self) -> list[tuple[str, Unjudged]]:
        """Every step about this window that gave nothing usable, as (step, why)."""
        steps: list[tuple[str, Unjudged | None]] = [
            ("verdict", row.unjudged) for row in self.verdicts.values()
        ]
        if self.set_level is not None:
            steps.append(("set-level", self.set_level.unjudged))
        if self.coverage is not None:
            gold = self.coverage.unjudged if self.coverage.gold is None else None
            steps += [
                ("gold", gold),
                ("matching", self.coverage.matching_unjudged),
                ("topics", self.coverage.topics_unjudged),
                ("questions", self.coverage.questions_unjudged),
                *(("answering", one.unjudged) for one in self.coverage.questions or ()),
            ]
        return [(step, why) for step, why in steps if why is not None]


def run_windows(
    rows: Sequence[Row], windows: Mapping[str, Window], policy: CoveragePolicy
) -> Iterator[RunWindow]:
    """Yield every window with a row of any instrument, in the order of its first row.

    Raises:
        RunError: a row's window is not in ``windows``.
    """
    for window_id, own in rows_by_window(rows):
        yield _run_window(window_of(window_id, windows), own, policy)


def _run_window(window: Window, rows: Sequence[Row], policy: CoveragePolicy) -> RunWindow:
    # What the composite says of a window, it says from the rows of that window.
    judged = composite(rows_of(CoverageRow, rows), rows_of(ConclusionRow, rows), policy)
    found = RunWindow(window, next(iter(judged.points), None) or _no_point(window.window_id))
    for row in rows:
        match row:
            case ConclusionRow():
                found.verdicts[row.conclusion_id] = row
            case CoverageRow():
                found.coverage = row
            case SetLevelRow():
                found.set_level = row
    _add_words(found, judged)
    return found


def _add_words(item: RunWindow, judged: CompositeSummary) -> None:
    lost = {fact.gold_id for fact in judged.lost_facts}
    facts = () if item.coverage is None else item.coverage.gold or ()
    for fact in facts:
        if fact.status != "COVERED":
            continue
        if fact.gold_id in lost:
            item.words[fact.gold_id] = "lost"
        else:
            item.words[fact.gold_id] = "kept" if _is_kept(fact, item) else "unknown"


def _is_kept(fact: GoldFact, item: RunWindow) -> bool:
    rows = (item.verdicts.get(name) for name in fact.covering)
    return any(row is not None and row.outcome == "sound" for row in rows)


def _no_point(window_id: str) -> WindowPoint:
    """Return the point of a window that only the set-level bench has a row of."""
    return WindowPoint(
        window_id=window_id,
        pass_rate=None,
        conclusions_judged=0,
        conclusions_unjudged=0,
        coverage_explicit=None,
        quality_coverage=None,
        facts_unknown=0,
    )

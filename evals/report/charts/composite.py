"""The charts of the composite: what became of covered facts, and windows as points."""

from collections import Counter

from markupsafe import Markup

from evals.composite import CompositeSummary, WindowPoint
from evals.report import numbers
from evals.report.charts.bars import counts_chart
from evals.report.charts.scatter import Dot, scatter
from evals.report.charts.svg import GREEN, GREY, RED

WINDOWS_DESCRIBED = 40
"""Windows named one by one for a screen reader; the rest is counted."""


def covered_facts_chart(summary: CompositeSummary) -> Markup:
    """Draw the covered gold facts by what their conclusions' verdicts make of them."""
    return counts_chart(
        "covered-facts",
        "Covered gold facts once the verdicts are in",
        {
            "kept": summary.facts_kept,
            "lost": summary.facts_lost,
            "unknown": summary.facts_unknown,
        },
        {"kept": GREEN, "lost": RED, "unknown": GREY},
        nothing="No gold fact is covered.",
    )


def quality_against_coverage(summary: CompositeSummary) -> Markup:
    """Draw each window that has both figures; those at one place are one larger point."""
    drawn = [
        (point.window_id, point.coverage_explicit, point.pass_rate)
        for point in summary.points
        if point.coverage_explicit is not None and point.pass_rate is not None
    ]
    # To a percent: the picture cannot tell them apart either, and it bounds its size.
    places = Counter((round(across, 2), round(up, 2)) for _, across, up in drawn)
    return scatter(
        "quality-coverage",
        "Pass rate against explicit coverage, window by window",
        [Dot(across, up, number) for (across, up), number in sorted(places.items())],
        across="explicit coverage",
        up="pass rate",
        described=_described(drawn),
        nothing="No window has both a pass rate and a coverage.",
    )


def without_a_place(summary: CompositeSummary) -> list[WindowPoint]:
    """Return the windows that the scatter leaves out: one of the two figures does not exist."""
    return [
        point
        for point in summary.points
        if point.coverage_explicit is None or point.pass_rate is None
    ]


def _described(drawn: list[tuple[str, float, float]]) -> str:
    named = [
        f"{window_id}: coverage {numbers.percent(across, 1)}, pass rate {numbers.percent(up, 1)}"
        for window_id, across, up in drawn[:WINDOWS_DESCRIBED]
    ]
    beyond = len(drawn) - len(named)
    return "; ".join(
        [*named, *([f"and {numbers.counted(beyond, 'more window')}"] if beyond else [])]
    )

"""The section of the composite: quality and coverage of the same facts and windows (3.6)."""

from evals.composite import CompositeSummary, LostFact
from evals.report import numbers
from evals.report.charts.composite import (
    covered_facts_chart,
    quality_against_coverage,
    without_a_place,
)
from evals.report.coverage_reading import kept_text, unknown_text
from evals.report.links import window_link, windows_link
from evals.report.sections.parts import Chart, Figure, share_figure
from evals.report.text import cut

LOST_SHOWN = 20
"""Lost facts listed; the page of windows has them all."""
_TEXT_COLUMNS = 200


def composite_values(summary: CompositeSummary) -> dict[str, object]:
    """Return what ``headline/composite.html.j2`` shows."""
    return {
        "figures": _figures(summary),
        "kept": kept_text(summary),
        "charts": _charts(summary),
        "lost": [_lost_values(fact) for fact in summary.lost_facts[:LOST_SHOWN]],
        "lost_title": numbers.counted(len(summary.lost_facts), "lost fact"),
        "lost_beyond": numbers.count(max(0, len(summary.lost_facts) - LOST_SHOWN)),
        "any_beyond": len(summary.lost_facts) > LOST_SHOWN,
        "lost_link": windows_link(composite="lost"),
    }


def _figures(summary: CompositeSummary) -> list[Figure]:
    return [
        share_figure(
            "Quality × coverage",  # noqa: RUF001  the sign is meant
            summary.quality_coverage,
            f"Explicit facts, covered by sound conclusions. {unknown_text(summary)}.",
        ),
        share_figure(
            "Implicit",
            summary.quality_coverage_implicit,
            "The same over facts that need an inference: reported, not the deriver's score.",
        ),
    ]


def _charts(summary: CompositeSummary) -> list[Chart]:
    left_out = len(without_a_place(summary))
    windows = len(summary.points)
    return [
        Chart(
            "Quality against coverage",
            quality_against_coverage(summary),
            f"{numbers.counted(windows - left_out, 'window')}; a larger point is several at one "
            f"place. {numbers.count(left_out)} left out: no pass rate or no explicit coverage. "
            "High and left is conservatism, low and right is spraying.",
        ),
        Chart(
            "Covered facts",
            covered_facts_chart(summary),
            "Kept: by a sound conclusion at least. Lost: by unsound ones alone, PARTIAL at best. "
            "Unknown: no sound one, and a verdict is missing; in no share.",
        ),
    ]


def _lost_values(fact: LostFact) -> dict[str, object]:
    return {
        "fact": cut(fact.fact, _TEXT_COLUMNS),
        "about": f"{fact.importance}, {'implicit' if fact.requires_inference else 'explicit'}",
        "window": cut(fact.window_id, _TEXT_COLUMNS),
        "link": window_link(fact.window_id),
        "failed": [
            (cut(one.text, _TEXT_COLUMNS), ", ".join(one.failed_because)) for one in fact.failed
        ],
    }

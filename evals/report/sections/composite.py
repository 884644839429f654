"""The section of the composite: quality and coverage of the same facts and windows (3.6)."""

from evals.composite import CompositeSummary, LostFact
from evals.coverage.share import Share
from evals.report import numbers
from evals.report.charts.composite import (
    covered_facts_chart,
    quality_against_coverage,
    without_a_place,
)
from evals.report.coverage_reading import kept_text, quality_parts, quality_value
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
        Figure(
            "Quality × coverage",  # noqa: RUF001  the sign is meant
            quality_value(summary),
            quality_parts(summary),
            "Explicit facts, covered by sound conclusions. Where a verdict is missing: from what "
            "it comes to if all that is unknown is unsound, to what if it is sound.",
        ),
        _implicit(summary.quality_coverage_implicit),
    ]


def _implicit(share: Share) -> Figure:
    # Without a value, what the known facts weigh would read as one.
    said = share if share.value is not None else share.model_copy(update={"weight": 0.0})
    return share_figure(
        "Implicit",
        said,
        "The same over facts that need an inference: reported, not the deriver's score. No number "
        "where a verdict is missing.",
    )


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
            "Unknown: no sound one, and a verdict is missing. Implicit and trivial facts count "
            "here, too.",
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

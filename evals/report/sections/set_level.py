"""The section of the set-level bench: redundancy and contradiction in time (2.2)."""

from evals.report import numbers
from evals.report.charts.set_level import group_size_chart, severity_chart
from evals.report.coverage_reading import string_check_text
from evals.report.links import windows_link
from evals.report.sections.parts import Chart, Figure, mean_figure, rate_figure
from evals.set_level.metrics import SetLevelSummary


def set_level_values(summary: SetLevelSummary) -> dict[str, object]:
    """Return what ``headline/set_level.html.j2`` shows."""
    return {
        "figures": _figures(summary),
        "charts": _charts(summary),
        "check": string_check_text(summary),
        "unjudged": numbers.counts_text(summary.unjudged_by_reason),
        "any_unjudged": bool(summary.unjudged_by_reason),
        "issues_link": windows_link(show="issues"),
        "unjudged_link": windows_link(show="unjudged"),
    }


def _figures(summary: SetLevelSummary) -> list[Figure]:
    return [
        rate_figure(
            "Redundancy rate",
            summary.redundancy_rate,
            "conclusions that could be dropped, by the judge",
        ),
        rate_figure(
            "By string check",
            summary.string_redundancy_rate,
            "the same over repeats in the same words, without a judge",
        ),
        mean_figure(
            "Contradictions",
            summary.contradictions_per_window,
            "in time, a window: actual ones only",
        ),
        rate_figure(
            "Unjudged batches",
            summary.set_level_unjudged_share,
            "their conclusions are in no rate of the judge",
            is_unjudged_share=True,
        ),
    ]


def _charts(summary: SetLevelSummary) -> list[Chart]:
    judged = numbers.counted(summary.issues_by_severity.n, "judged batch", "judged batches")
    return [
        Chart(
            "Redundancy groups by size",
            group_size_chart(summary),
            f"Of each group one conclusion is to stay. Over {judged}.",
        ),
        Chart(
            "Issues by severity",
            severity_chart(summary),
            f"Redundancy and contradiction in time. Over {judged}.",
        ),
    ]

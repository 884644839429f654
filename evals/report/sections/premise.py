"""The section of the premise judge: what to fix next, and its charts."""

from evals.premise.metrics import PremiseSummary
from evals.report import numbers, reading
from evals.report.charts.bars import TOP_LABELS
from evals.report.charts.premise import (
    attribution_chart,
    bundled_chart,
    failed_condition_chart,
    label_chart,
    time_status_chart,
    unsupported_kind_chart,
)
from evals.report.links import cases_link
from evals.report.sections.parts import Chart, Figure, mean_figure, rate_figure


def premise_values(summary: PremiseSummary) -> dict[str, object]:
    """Return what ``headline/premise.html.j2`` shows."""
    judged = summary.pass_rate.n
    return {
        "figures": _figures(summary),
        "attribution": attribution_chart(summary),
        "reading": reading.attribution_reading(summary),
        "meanings": [
            (name, text, cases_link(attribution=name))
            for name, text in reading.ATTRIBUTION_MEANING.items()
        ],
        "limits": reading.attribution_limits(summary),
        "unsound": numbers.counted(judged - summary.pass_rate.hits, "unsound conclusion"),
        "unsound_link": cases_link(verdict="unsound"),
        "by_conclusion": reading.attribution_by_conclusion(summary),
        "unjudged": reading.unjudged_parts(summary),
        "unjudged_link": cases_link(verdict="unjudged"),
        "charts": _charts(summary),
    }


def _figures(summary: PremiseSummary) -> list[Figure]:
    return [
        mean_figure(
            "Decontextuality", summary.mean_decontextuality, "meaning that survives alone, of 1"
        ),
        mean_figure("Minimality", summary.mean_minimality, "one claim and nothing more, of 1"),
        mean_figure(
            "Molecular score", summary.mean_molecular, "root of decontextuality times minimality"
        ),
        rate_figure(
            "Unjudged",
            summary.unjudged_share,
            "no verdict: never a pass, never a fail",
            is_unjudged_share=True,
        ),
    ]


def _charts(summary: PremiseSummary) -> list[Chart]:
    labels = len(summary.label_histogram.counts)
    unsound = numbers.counted(summary.failed_condition_histogram.n, "unsound conclusion")
    beyond = max(0, labels - TOP_LABELS)
    return [
        Chart(
            "Failed conditions",
            failed_condition_chart(summary),
            f"Share of {unsound}; one can fail several.",
        ),
        Chart(
            "Time status",
            time_status_chart(summary),
            "Green passes; amber is the timestamp's fault and passes; red fails. "
            f"{numbers.count(summary.time_status_histogram.unjudged)} unjudged.",
        ),
        Chart(
            "Labels",
            label_chart(summary),
            f"Free text, exact matches. {numbers.counted(beyond, 'more label')} not shown.",
        ),
        Chart(
            "Unsupported elements",
            unsupported_kind_chart(summary),
            f"Over {numbers.counted(summary.unsupported_kind_histogram.n, 'judged conclusion')}.",
        ),
        Chart(
            "Bundled against minimality",
            bundled_chart(summary),
            f"Bundled: {numbers.rate_text(summary.bundled_rate)}. "
            + " ".join(
                f"At most one claim where {'' if cell.bundled else 'not '}bundled: "
                f"{numbers.rate_text(cell.single_claim)}."
                for cell in summary.bundled_by_minimality
            ),
        ),
    ]

"""The charts of the set-level bench."""

from markupsafe import Markup

from evals.report.charts.bars import counts_chart
from evals.report.charts.svg import AMBER, GREY, RED
from evals.set_level.metrics import SetLevelSummary

SEVERITY_COLOURS = {"HIGH": RED, "MEDIUM": AMBER, "LOW": GREY}


def group_size_chart(summary: SetLevelSummary) -> Markup:
    """Draw the redundancy groups by size, the smallest first."""
    counts = summary.redundancy_groups_by_size.counts
    by_size = {f"{size} conclusions": counts[size] for size in sorted(counts, key=int)}
    return counts_chart(
        "group-sizes",
        "Redundancy groups by the number of conclusions in them",
        by_size,
        {},
        nothing="No redundancy group in a judged batch.",
    )


def severity_chart(summary: SetLevelSummary) -> Markup:
    """Draw the issues of both kinds by severity, the gravest first."""
    counts = summary.issues_by_severity.counts
    named = {name: counts[name] for name in SEVERITY_COLOURS if name in counts}
    return counts_chart(
        "severity",
        "Issues by severity",
        named,
        SEVERITY_COLOURS,
        nothing="No issue in a judged batch.",
    )

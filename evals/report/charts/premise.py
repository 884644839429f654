"""The charts of the premise judge."""

from collections import Counter

from markupsafe import Markup

from evals.premise.metrics import BundledByMinimality, PremiseSummary
from evals.report import numbers
from evals.report.charts.bars import TOP_LABELS, Bar, bar_chart, counts_chart
from evals.report.charts.svg import AMBER, BLUE, GREEN, GREY, RED

ATTRIBUTION_COLOURS = {
    "PRESENT_IN_WINDOW": BLUE,
    "ABSENT_FROM_WINDOW": AMBER,
    "ABSENT_EVERYWHERE": GREY,
}
TIME_COLOURS = {
    "ANCHORED_CORRECTLY": GREEN,
    "SELF_ANCHORING": GREEN,
    "HEDGED_APPROPRIATELY": GREEN,
    "ANCHORED_TO_BAD_TIMESTAMP": AMBER,
    "UNANCHORED": RED,
    "ANCHORED_INCORRECTLY": RED,
}


def attribution_chart(summary: PremiseSummary) -> Markup:
    """Draw the headline: open slots of failed conclusions by attribution (1.4)."""
    counts = Counter(summary.failure_attribution_split.counts)
    named = {name: counts[name] for name in ATTRIBUTION_COLOURS}  # all three, a zero as well
    return counts_chart(
        "attribution",
        "Where the open slots of failed conclusions could have been settled",
        named,
        ATTRIBUTION_COLOURS,
        nothing="No failed conclusion leaves a slot open.",
    )


def time_status_chart(summary: PremiseSummary) -> Markup:
    """Draw pass 2's time statuses: green passes, amber is the input's fault, red fails."""
    return counts_chart(
        "time-status",
        "Time status of judged conclusions",
        summary.time_status_histogram.counts,
        TIME_COLOURS,
        nothing="No conclusion has a time status.",
    )


def label_chart(summary: PremiseSummary) -> Markup:
    """Draw the most frequent labels; the rest is one line below, counted."""
    counts = summary.label_histogram.counts
    top = dict(list(counts.items())[:TOP_LABELS])
    return counts_chart(
        "labels",
        "Most frequent labels of both passes",
        top,
        {},
        total=sum(counts.values()),
        nothing="The judge gave no labels.",
    )


def failed_condition_chart(summary: PremiseSummary) -> Markup:
    """Draw which conditions of 1.3 failed; a conclusion can fail several."""
    histogram = summary.failed_condition_histogram
    return counts_chart(
        "failed-conditions",
        "Conditions that unsound conclusions fail",
        histogram.counts,
        {},
        total=histogram.n,
        nothing="No conclusion failed a condition.",
    )


def unsupported_kind_chart(summary: PremiseSummary) -> Markup:
    """Draw the kinds of unsupported elements."""
    return counts_chart(
        "unsupported-kinds",
        "Kinds of unsupported elements",
        summary.unsupported_kind_histogram.counts,
        {},
        nothing="No conclusion has an unsupported element.",
    )


def bundled_chart(summary: PremiseSummary) -> Markup:
    """Draw mean minimality of bundled and single conclusions, on the scale of 0 to 1."""
    cells = [cell for cell in summary.bundled_by_minimality if cell.minimality.value is not None]
    return bar_chart(
        "bundled",
        "Mean minimality by the bundled flag of pass 1",
        [_bundled_bar(cell) for cell in cells],
        nothing="No conclusion has both a bundled flag and a minimality.",
    )


def _bundled_bar(cell: BundledByMinimality) -> Bar:
    return Bar(
        label="bundled" if cell.bundled else "not bundled",
        length=cell.minimality.value or 0.0,
        value=f"{numbers.mean_value(cell.minimality)} (n {numbers.count(cell.minimality.n)})",
        colour=AMBER if cell.bundled else BLUE,
    )

"""The charts of the coverage bench."""

from collections.abc import Mapping

from markupsafe import Markup

from evals.coverage.metrics import CoverageSummary
from evals.coverage.share import Share
from evals.metrics import Histogram, Rate
from evals.report import numbers
from evals.report.charts.bars import TOP_LABELS, Bar, bar_chart, counts_chart
from evals.report.charts.svg import AMBER, BLUE, GREEN, GREY


def importance_chart(summary: CoverageSummary) -> Markup:
    """Draw explicit coverage by importance."""
    return _shares_chart(
        "coverage-importance", "Explicit coverage by importance", summary.coverage_by_importance
    )


def category_chart(summary: CoverageSummary) -> Markup:
    """Draw explicit coverage of the heaviest categories."""
    top = dict(list(summary.coverage_by_category.items())[:TOP_LABELS])
    return _shares_chart("coverage-category", "Explicit coverage by category", top)


def dropped_chart(summary: CoverageSummary) -> Markup:
    """Draw the gold facts that the harness refused, by reason."""
    return counts_chart(
        "dropped-facts",
        "Gold facts that the harness refused, by reason",
        summary.dropped_facts,
        {},
        nothing="The harness refused no gold fact.",
    )


def qa_chart(summary: CoverageSummary) -> Markup:
    """Draw what became of the graded questions: three shares of one whole."""
    named: list[tuple[str, Rate, str]] = [
        ("ANSWERABLE_CORRECT", summary.qa_answerable_correct_rate, GREEN),
        ("ANSWERABLE_WRONG", summary.qa_answerable_wrong_rate, AMBER),
        ("UNANSWERABLE", summary.qa_unanswerable_rate, GREY),
    ]
    bars = [
        Bar(name, rate.value, f"{numbers.rate_value(rate)} ({rate.hits} of {rate.n})", colour)
        for name, rate, colour in named
        if rate.value is not None
    ]
    return bar_chart(
        "qa", "Graded questions by what the conclusions answer", bars,
        nothing="No question is graded.", full=1,
    )  # fmt: skip


def gold_topics_chart(summary: CoverageSummary) -> Markup:
    """Draw what the gold facts are about."""
    return _topics_chart("gold-topics", "Topics of the gold facts", summary.gold_topics)


def conclusion_topics_chart(summary: CoverageSummary) -> Markup:
    """Draw what the conclusions are about."""
    return _topics_chart(
        "conclusion-topics", "Topics of the conclusions", summary.conclusion_topics
    )


def _topics_chart(chart_id: str, title: str, topics: Histogram) -> Markup:
    whole = sum(topics.counts.values())
    return counts_chart(
        chart_id,
        title,
        dict(list(topics.counts.items())[:TOP_LABELS]),
        {},
        total=whole,
        full=whole,  # as shares, so that the two distributions compare
        nothing="Nothing is sorted by topic.",
    )


def _shares_chart(chart_id: str, title: str, shares: Mapping[str, Share]) -> Markup:
    """Draw the shares that exist: one over nothing has no length."""
    bars = [
        Bar(name, share.value, _beside(share), BLUE)
        for name, share in shares.items()
        if share.value is not None
    ]
    return bar_chart(chart_id, title, bars, nothing="No fact of a weight is matched.", full=1)


def _beside(share: Share) -> str:
    basis = f"{numbers.weight(share.earned)} of {numbers.weight(share.weight)}"
    return f"{numbers.share_value(share)} ({basis})"

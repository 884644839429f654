"""The section of the coverage bench: coverage, QA and topic skew (3.1 to 3.5)."""

from evals.coverage.metrics import CoverageSummary
from evals.metrics import Histogram
from evals.report import numbers
from evals.report.charts.bars import TOP_LABELS
from evals.report.charts.coverage import (
    category_chart,
    conclusion_topics_chart,
    dropped_chart,
    gold_topics_chart,
    importance_chart,
    qa_chart,
)
from evals.report.coverage_reading import (
    IMPLICIT,
    QA_INDEPENDENCE,
    SILENCE,
    flags_text,
    gold_text,
    relative_time_text,
    unjudged_steps,
    without_gold_text,
    without_questions_text,
)
from evals.report.links import window_link, windows_link
from evals.report.sections.parts import Chart, Figure, rate_figure, share_figure


def coverage_values(summary: CoverageSummary) -> dict[str, object]:
    """Return what ``headline/coverage.html.j2`` shows."""
    return {
        "figures": _figures(summary),
        "gold": gold_text(summary),
        "relative_time": relative_time_text(summary),
        "unjudged": unjudged_steps(summary),
        "unjudged_link": windows_link(show="unjudged"),
        "missing_link": windows_link(show="missing"),
        "charts": _charts(summary),
        "qa": _qa_values(summary),
        "topics": _topic_charts(summary),
        "flags_text": flags_text(summary),
        "flags": [
            {"window": flag.window_id, "link": window_link(flag.window_id), "text": flag.text}
            for flag in summary.topic_flags
        ],
    }


def _figures(summary: CoverageSummary) -> list[Figure]:
    without_gold = without_gold_text(summary)
    skipped_note = f"{SILENCE} {without_gold}." if without_gold else SILENCE
    return [
        share_figure(
            "Explicit", summary.coverage_explicit, "The deriver's score: what windows say outright."
        ),
        share_figure("Implicit", summary.coverage_implicit, IMPLICIT),
        rate_figure("TRIVIAL skipped", summary.trivial_skipped_rate, skipped_note),
        rate_figure(
            "Unjudged windows",
            summary.coverage_unjudged_share,
            "No gold or no matching: in no share, never MISSING.",
            is_unjudged_share=True,
        ),
    ]


def _charts(summary: CoverageSummary) -> list[Chart]:
    beyond = max(0, len(summary.coverage_by_category) - TOP_LABELS)
    dropped = numbers.counted(sum(summary.dropped_facts.values()), "gold fact")
    return [
        Chart(
            "By importance",
            importance_chart(summary),
            "Explicit facts; weight covered of weight matched. TRIVIAL is in no share.",
        ),
        Chart(
            "By category",
            category_chart(summary),
            f"Explicit facts, the heaviest categories. Free text, exact matches. "
            f"{numbers.counted(beyond, 'more category', 'more categories')} not shown.",
        ),
        Chart(
            "Dropped facts",
            dropped_chart(summary),
            f"{dropped} refused by the harness and in no score: no span in the window, no licensed "
            "inference, a relative time, a peer nobody asked about, or a repeat.",
        ),
    ]


def _qa_values(summary: CoverageSummary) -> dict[str, object]:
    return {
        "chart": Chart(
            "What the conclusions answer",
            qa_chart(summary),
            "ANSWERABLE_WRONG is on the subject and misleading: those conclusions are in "
            "labelling_queue.jsonl.",
        ),
        "independence": QA_INDEPENDENCE,
        "correct": numbers.rate_text(summary.qa_answerable_correct_rate),
        "questions": numbers.counted(summary.questions, "question"),
        "without": without_questions_text(summary),
        "dropped": f"{numbers.count(summary.dropped_questions)} more refused by the harness",
        "wrong_link": windows_link(grade="ANSWERABLE_WRONG"),
    }


def _topic_charts(summary: CoverageSummary) -> list[Chart]:
    return [
        Chart("Gold facts", gold_topics_chart(summary), _topics_note(summary.gold_topics, "fact")),
        Chart(
            "Conclusions",
            conclusion_topics_chart(summary),
            _topics_note(summary.conclusion_topics, "conclusion"),
        ),
    ]


def _topics_note(topics: Histogram, noun: str) -> str:
    beyond = max(0, len(topics.counts) - TOP_LABELS)
    return (
        f"{numbers.counted(sum(topics.counts.values()), noun)} in "
        f"{numbers.counted(topics.n, 'window')}, {numbers.count(topics.unjudged)} unjudged. "
        f"{numbers.counted(beyond, 'more topic')} not shown."
    )

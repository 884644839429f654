"""Sentences on coverage, set-level bench and composite that page and terminal share."""

from evals.composite import CompositeSummary
from evals.coverage.metrics import CoverageSummary
from evals.policy import CoveragePolicy
from evals.report import numbers
from evals.set_level.metrics import SetLevelSummary

NOT_RUN = "not run"
BOTH_NEEDED = (
    "Quality without coverage teaches conservatism; coverage without quality teaches spraying."
)
WHY_QUALITY = "The premise judge is not in this run, so what is covered may be unusable."
WHY_COVERAGE = "The coverage bench is not in this run, so what was never minted is not seen."
WHY_COMPOSITE = "It needs both the premise judge and the coverage bench."

QA_INDEPENDENCE = (
    "QA is an independent measurement: its questions come from the window and never pass through "
    "the gold facts, so it does not share the gold extractor's blind spots."
)
SILENCE = "The silence principle: declining to mint inert facts is right, so high is good."
IMPLICIT = (
    "Facts that need an inference: reported, not the deriver's score, and not to be hill-climbed. "
    "They measure what a later inference stage would be worth."
)


def relative_time_text(summary: CoverageSummary) -> str:
    """Return ``0 relative-time facts in the gold; 3 refused for it`` (3.3)."""
    kept = numbers.counted(summary.relative_time_facts, "relative-time fact")
    return f"{kept} in the gold; {numbers.count(summary.relative_time_refused)} refused for it"


def gold_text(summary: CoverageSummary) -> str:
    """Return what coverage is measured against: gold facts, windows, and who made the gold."""
    audited = summary.audited_windows
    by_person = f"; gold of {numbers.count(audited)} corrected by a person" if audited else ""
    empty = summary.windows_without_conclusions
    silent = f"; {numbers.count(empty)} without any conclusion" if empty else ""
    return (
        f"{numbers.counted(summary.gold_facts, 'gold fact')} in "
        f"{numbers.counted(summary.windows, 'window')} "
        f"({numbers.counts_text(summary.gold_by_importance.counts)}){by_person}{silent}"
    )


def dropped_text(summary: CoverageSummary) -> str:
    """Return how many gold facts the harness refused, and why."""
    dropped = sum(summary.dropped_facts.values())
    reasons = f" ({numbers.counts_text(summary.dropped_facts)})" if dropped else ""
    return f"{numbers.counted(dropped, 'gold fact')} refused by the harness{reasons}"


def without_gold_text(summary: CoverageSummary) -> str:
    """Return how many windows have no gold, so that no rate of facts counts them; "" where none."""
    missing = summary.gold_by_importance.unjudged
    return f"{numbers.counted(missing, 'window')} without gold: not in it" if missing else ""


def without_questions_text(summary: CoverageSummary) -> str:
    """Return how many windows no question was asked about, unjudged; "" where none."""
    missing = summary.windows_without_questions
    if not missing:
        return ""
    windows = numbers.counted(missing, "window")
    return f"{windows} without questions, question generation unjudged: in no QA rate"


def flags_text(summary: CoverageSummary) -> str:
    """Return ``3 topic flags in 2 windows``."""
    windows = {flag.window_id for flag in summary.topic_flags}
    return (
        f"{numbers.counted(len(summary.topic_flags), 'topic flag')} in "
        f"{numbers.counted(len(windows), 'window')}"
    )


def unjudged_steps(summary: CoverageSummary) -> list[tuple[str, str]]:
    """Return each step that gave nothing usable with its counts by reason; only where any did."""
    return [
        (step.replace("_", " "), numbers.counts_text(counts))
        for step, counts in summary.unjudged_by_step.items()
        if counts
    ]


def kept_text(summary: CompositeSummary) -> str:
    """Return what became of every covered fact, also of those that are in no share.

    ``11 covered facts, implicit and trivial ones included: 7 kept, 3 lost, 1 unknown``.
    """
    return (
        f"{numbers.counted(summary.facts_covered, 'covered fact')}, implicit and trivial ones "
        f"included: {numbers.count(summary.facts_kept)} kept, "
        f"{numbers.count(summary.facts_lost)} lost, {numbers.count(summary.facts_unknown)} unknown"
    )


def quality_value(summary: CompositeSummary) -> str:
    """Return ``42.6 %``, or ``between 40.0 % and 52.5 %`` where a fact is unknown."""
    if not _unknown(summary):
        return numbers.share_value(summary.quality_coverage)
    worst = numbers.share_value(summary.quality_coverage_worst)
    return f"between {worst} and {numbers.share_value(summary.quality_coverage_best)}"


def quality_parts(summary: CompositeSummary) -> list[str]:
    """Return what it rests on; ``["3 facts unknown", "40 facts", "1 unjudged"]`` for bounds.

    The unknown are among the facts then, and not among the unjudged.
    """
    unknown = _unknown(summary)
    if not unknown:
        return numbers.share_parts(summary.quality_coverage)
    # Each bound has a weight and an interval of its own; what is counted is the same for both.
    plain = {"weight": 0.0, "low": None, "high": None}
    counted = numbers.share_parts(summary.quality_coverage_worst.model_copy(update=plain))
    return [f"{numbers.counted(unknown, 'fact')} unknown", *counted]


def quality_text(summary: CompositeSummary) -> str:
    """Return the composite on one line.

    ``between 40.0 % and 52.5 % (3 facts unknown), 40 facts, 1 unjudged`` where facts are unknown.
    """
    if not _unknown(summary):
        return numbers.share_text(summary.quality_coverage)
    first, *rest = quality_parts(summary)
    return ", ".join([f"{quality_value(summary)} ({first})", *rest])


def _unknown(summary: CompositeSummary) -> int:
    """Return how many facts of the share are unknown: explicit, of a weight above 0."""
    return summary.quality_coverage_best.n - summary.quality_coverage.n


def string_check_text(summary: SetLevelSummary) -> str:
    """Return what the check without a judge says of the judge."""
    missed = numbers.share_of(summary.string_repeats_missed_by_judge, summary.string_repeat_pairs)
    return f"{missed} word-by-word repeats (pairs) are in no redundancy group of the judge"


def policy_text(policy: CoveragePolicy) -> str:
    """Return the weights and thresholds that the figures were made with."""
    weights = (
        ("CRITICAL", policy.critical_weight),
        ("IMPORTANT", policy.important_weight),
        ("MINOR", policy.minor_weight),
        ("TRIVIAL", 0.0),
    )
    named = ", ".join(f"{name} {numbers.weight(value)}" for name, value in weights)
    return (
        f"{named}; PARTIAL counts {numbers.weight(policy.partial_credit)}; topics flagged over "
        f"{numbers.percent(policy.absent_topic_share, 1)} of gold and absent, over "
        f"{numbers.percent(policy.dominant_topic_share, 1)} of conclusions "
        f"against {numbers.count(policy.diverse_topics)} or more gold topics"
    )

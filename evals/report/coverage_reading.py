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


def unjudged_steps(summary: CoverageSummary) -> list[tuple[str, str]]:
    """Return each step that gave nothing usable with its counts by reason; only where any did."""
    return [
        (step.replace("_", " "), numbers.counts_text(counts))
        for step, counts in summary.unjudged_by_step.items()
        if counts
    ]


def kept_text(summary: CompositeSummary) -> str:
    """Return ``11 covered facts: 7 kept, 3 lost, 1 unknown``."""
    return (
        f"{numbers.counted(summary.facts_covered, 'covered fact')}: "
        f"{numbers.count(summary.facts_kept)} kept, {numbers.count(summary.facts_lost)} lost, "
        f"{numbers.count(summary.facts_unknown)} unknown"
    )


def unknown_text(summary: CompositeSummary) -> str:
    """Return how many facts the composite cannot tell: they are in no share."""
    return f"{numbers.counted(summary.facts_unknown, 'covered fact')} unknown, left out"


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

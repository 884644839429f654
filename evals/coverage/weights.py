"""What a gold fact weighs, and what its status counts: policy put to use (3.1)."""

from evals.coverage.schema import Importance, MatchStatus
from evals.policy import CoveragePolicy


def weight_of(importance: Importance, policy: CoveragePolicy) -> float:
    """Return the weight of an importance: TRIVIAL is always 0, so it is in no share."""
    weights: dict[Importance, float] = {
        "CRITICAL": policy.critical_weight,
        "IMPORTANT": policy.important_weight,
        "MINOR": policy.minor_weight,
        "TRIVIAL": 0,
    }
    return weights[importance]


def credit_of(status: MatchStatus | None, policy: CoveragePolicy) -> float | None:
    """Return what a status counts, 0 to 1; None where matching is unjudged."""
    if status is None:
        return None
    counted: dict[MatchStatus, float] = {
        "COVERED": 1,
        "PARTIAL": policy.partial_credit,
        "MISSING": 0,
    }
    return counted[status]

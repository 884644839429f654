"""What reporters and JUnit show of a judged case."""

from evals.judging.judged import Judged

OUTCOME_PROPERTY = "outcome"


def properties_of(judged: Judged) -> list[tuple[str, object]]:
    """Return a few plain values; JSON types only, for xdist."""
    properties: list[tuple[str, object]] = [
        (OUTCOME_PROPERTY, judged.outcome),
        ("instrument", judged.instrument),
        ("case_id", judged.case_id),
        ("run_id", judged.run_id),
    ]
    if judged.unjudged_reason is not None:
        properties.append(("unjudged_reason", judged.unjudged_reason))
    return properties

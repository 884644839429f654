"""What the judge answers about one batch, and nothing looser (2.2).

The two kinds are the definition of this bench, not a list of failures that could grow: whatever can
be said of one conclusion by itself is the premise judge's business.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

IssueKind = Literal["REDUNDANCY", "TEMPORAL_CONFUSION"]
Severity = Literal["LOW", "MEDIUM", "HIGH"]


class Answer(BaseModel):
    """Base of the judge's answers: exact keys, no coercion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SetIssue(Answer):
    """Something wrong between conclusions, which none of them shows by itself."""

    kind: IssueKind
    severity: Severity
    conclusion_ids: tuple[str, ...]
    """Two or more, each once."""
    evidence: str
    """The fact that is restated, or the words that contradict each other."""

    @field_validator("conclusion_ids")
    @classmethod
    def _several_each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) < 2:  # noqa: PLR2004  one conclusion is no set
            message = f"{len(value)} conclusions: an issue is between two or more"
            raise ValueError(message)
        if len(set(value)) < len(value):
            message = "a conclusion is named twice in one issue"
            raise ValueError(message)
        return value

    @field_validator("evidence")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            message = "no evidence"
            raise ValueError(message)
        return value


class SetIssuesAnswer(Answer):
    """Every issue of a batch; empty where there is none."""

    set_issues: tuple[SetIssue, ...]

"""What the judge answers in each call of the coverage bench, and nothing looser.

Closed sets are the specification's: importance, match status, and how an answer was graded.
Categories and topics are strings.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Importance = Literal["CRITICAL", "IMPORTANT", "MINOR", "TRIVIAL"]
MatchStatus = Literal["COVERED", "PARTIAL", "MISSING"]
AnswerGrade = Literal["ANSWERABLE_CORRECT", "ANSWERABLE_WRONG", "UNANSWERABLE"]

UNANSWERABLE = "UNANSWERABLE"
"""What an answering call writes where the conclusions do not hold the answer."""


class Answer(BaseModel):
    """Base of the judge's answers: exact keys, no coercion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class GoldItem(Answer):
    """One atomic fact that the window states or implies about a peer (3.1 to 3.3)."""

    peer_id: str
    """One of the peers asked about."""
    fact: str
    """Stands by itself: named subject, absolute or openly hedged time."""
    category: str
    importance: Importance
    requires_inference: bool
    """False where the window says it in so many words (3.2)."""
    source_span: str
    """Words of one message, copied exactly."""
    licensed_inference: str
    """A non-vacuous inference that the fact licenses, or ``NONE`` (3.1)."""


class GoldAnswer(Answer):
    """Gold extraction."""

    facts: tuple[GoldItem, ...]


class Match(Answer):
    """How one gold fact stands in the conclusions."""

    gold_id: str
    status: MatchStatus
    covering: tuple[str, ...]
    """Ids of the conclusions that carry it; empty exactly where it is MISSING."""
    why: str


class MatchAnswer(Answer):
    """Matching: every gold fact, once."""

    matches: tuple[Match, ...]


class QuestionItem(Answer):
    """One question that the window answers (3.4)."""

    question: str
    gold_answer: str
    source_span: str
    """Words of one message, copied exactly."""


class QuestionAnswer(Answer):
    """Question generation."""

    questions: tuple[QuestionItem, ...]


class WrittenAnswer(Answer):
    """What the conclusions alone answer to one question."""

    answer: str
    """Text, or ``UNANSWERABLE``."""
    conclusion_ids: tuple[str, ...]
    """The conclusions that the answer rests on."""


class Comparison(Answer):
    """One written answer against the gold answer."""

    question_id: str
    same: bool
    why: str


class ComparisonAnswer(Answer):
    """Comparison: every pair asked about, once."""

    comparisons: tuple[Comparison, ...]


class Topic(Answer):
    """The topic of one gold fact or conclusion."""

    item_id: str
    topic: str


class TopicAnswer(Answer):
    """Topics: every gold fact and conclusion, once, with one vocabulary for both (3.5)."""

    topics: tuple[Topic, ...]

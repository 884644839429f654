"""The row of one window: everything that coverage metrics and the composite are made from."""

from typing import Literal

from evals.coverage.schema import AnswerGrade, Importance, MatchStatus
from evals.judging.case import Row
from evals.records import Record, Unjudged


class GoldFact(Record):
    """A gold fact that passed the harness's filters, with its match."""

    gold_id: str
    """Unique in its window: ``g1``, ``g2``, …"""
    peer_id: str
    fact: str
    category: str
    importance: Importance
    requires_inference: bool
    source_span: str
    message_id: str
    """The message that holds the span."""
    licensed_inference: str
    status: MatchStatus | None
    """None exactly where matching is unjudged."""
    covering: tuple[str, ...]
    """Ids of the conclusions that carry it."""
    why: str | None
    topic: str | None


class DroppedFact(Record):
    """A gold fact that the harness refused, and why; counted, never scored."""

    fact: str
    source_span: str
    reason: Literal[
        "span_not_found", "no_inference", "relative_time", "unknown_peer", "repeated", "too_long"
    ]
    detail: str


class Question(Record):
    """A question, what the conclusions alone answered, and how that was graded (3.4)."""

    question_id: str
    """Unique in its window: ``q1``, ``q2``, …"""
    question: str
    gold_answer: str
    source_span: str
    message_id: str
    written_answer: str | None
    conclusion_ids: tuple[str, ...]
    grade: AnswerGrade | None
    """None exactly where it is unjudged."""
    graded_by: Literal["harness", "judge"] | None
    why: str | None
    unjudged: Unjudged | None


class CoverageRow(Row):
    """One window of the coverage bench."""

    kind: Literal["window"]
    instrument: Literal["coverage"]
    window_id: str
    conclusion_ids: tuple[str, ...]
    """Every conclusion of the window, in order."""
    gold_source: Literal["judge", "audited"] | None
    """Who the gold is from; None where extraction is unjudged."""
    gold: tuple[GoldFact, ...] | None
    """None exactly where extraction is unjudged: the row's outcome is then ``unjudged`` too."""
    dropped: tuple[DroppedFact, ...]
    matching_unjudged: Unjudged | None
    questions: tuple[Question, ...] | None
    """None exactly where question generation is unjudged."""
    questions_unjudged: Unjudged | None
    dropped_questions: int
    """Questions that the harness refused: their span is not in the window, they are answered by yes
    or no, hold their own answer, or come twice."""
    conclusion_topics: dict[str, str] | None
    """Conclusion id -> topic; None where topics are unjudged or there is nothing to sort."""
    topics_unjudged: Unjudged | None

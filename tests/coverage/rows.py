"""Rows of the coverage bench, written down, for the tests of what is made from rows."""

from collections.abc import Sequence
from typing import Any

from evals.coverage.row import CoverageRow, GoldFact, Question
from evals.records import Provenance, Unjudged, Window
from tests.scripted import provenance_of

REFUSED = Unjudged(reason="refused", detail="why")


def provenance_for(window: Window) -> Provenance:
    own = {
        "dataset_shape": window.dataset_shape,
        "window_text_hash": window.window_text_hash,
        "window_message_ids": tuple(item.message_id for item in window.messages),
        "message_timestamps": tuple(item.sent_at for item in window.messages),
        "window_reconstructed": window.window_reconstructed,
        "peer_id": window.peer_id,
    }
    return provenance_of(window.window_id).model_copy(update=own)


def gold_fact(gold_id: str = "g1", **changed: Any) -> GoldFact:
    """A MISSING explicit fact about vince of importance MINOR, with the named fields changed."""
    fields: dict[str, Any] = {
        "gold_id": gold_id,
        "peer_id": "vince",
        "fact": f"fact {gold_id} of vince",
        "category": "WORK",
        "importance": "MINOR",
        "requires_inference": False,
        "source_span": "at the bakery",
        "message_id": "m1",
        "licensed_inference": "vince has a job",
        "status": "MISSING",
        "covering": (),
        "why": None,
        "topic": None,
    }
    assert set(changed) <= set(fields)
    return GoldFact(**(fields | changed))


def question(question_id: str = "q1", **changed: Any) -> Question:
    """A wrong answer, with the named fields changed."""
    fields: dict[str, Any] = {
        "question_id": question_id,
        "question": "Who bought the boat?",
        "gold_answer": "a dentist",
        "source_span": "to a dentist",
        "message_id": "m1",
        "written_answer": "a doctor",
        "conclusion_ids": (),
        "grade": "ANSWERABLE_WRONG",
        "graded_by": "judge",
        "why": "another profession",
        "unjudged": None,
    }
    assert set(changed) <= set(fields)
    return Question(**(fields | changed))


def coverage_row(
    window: Window,
    gold: Sequence[GoldFact] | None = (),
    *,
    questions: Sequence[Question] | None = (),
    gold_source: str = "judge",
) -> CoverageRow:
    """A row of ``window``; gold None: extraction is unjudged."""
    fields: dict[str, Any] = {
        "outcome": "unjudged" if gold is None else "scored",
        "gold_source": None if gold is None else gold_source,
        "gold": None if gold is None else tuple(gold),
        "questions": None if questions is None else tuple(questions),
    }
    return CoverageRow(
        kind="window",
        instrument="coverage",
        case_id=window.window_id,
        unjudged=REFUSED if gold is None else None,
        calls=(),
        provenance=provenance_for(window),
        window_id=window.window_id,
        conclusion_ids=tuple(item.conclusion_id for item in window.conclusions),
        dropped=(),
        matching_unjudged=REFUSED if gold is None else None,
        questions_unjudged=REFUSED if questions is None else None,
        dropped_questions=0,
        conclusion_topics=None,
        topics_unjudged=None,
        **fields,
    )

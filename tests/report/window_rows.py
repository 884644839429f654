"""Rows of the two other instruments as a run would make them, every text under the test's control.

The window of most tests: ``ana`` and what she said in three messages, with four conclusions.
"""

from typing import Any

from evals.coverage.row import CoverageRow, DroppedFact, GoldFact, Question
from evals.premise.row import ConclusionRow
from evals.records import Conclusion, Unjudged, Window, conclusion_id_of
from evals.set_level.row import SetLevelRow
from evals.set_level.schema import SetIssue
from tests.report.conftest import call_of, provenance_of, row_of, window_of

LATE = Unjudged(reason="timeout", detail="no answer within 60 s")
MESSAGES = ("I moved to Porto in March 2026.", "My cat Miro is three.", "I play chess, badly.")
TEXTS = ("ana moved to Porto", "ana lives in Porto", "ana has a cat named Miro", "ana likes it")


def told_window(*texts: str, window_id: str = "w1", **changes: Any) -> Window:
    """Return a window of ``MESSAGES`` with one conclusion a text, ``TEXTS`` by default."""
    conclusions = tuple(
        Conclusion(
            conclusion_id=conclusion_id_of(window_id, ordinal, text),
            ordinal=ordinal,
            peer_id="ana",
            text=text,
            deriver_prompt_hash=None,
            deriver_model_id=None,
            derived_at=None,
        )
        for ordinal, text in enumerate(texts or TEXTS)
    )
    messages = changes.pop("messages", MESSAGES)
    return window_of(*messages, window_id=window_id, conclusions=conclusions, **changes)


def ids_of(window: Window) -> tuple[str, ...]:
    return tuple(one.conclusion_id for one in window.conclusions)


def verdict_rows(window: Window, verdicts: str) -> list[ConclusionRow]:
    """Return the premise judge's rows of the first conclusions, one a character.

    ``+`` is sound, ``-`` unsound, ``?`` unjudged.
    """
    slots = [("TIME", "PRESENT_IN_WINDOW", "m1")]
    extras: dict[str, dict[str, Any]] = {"+": {}, "-": {"slots": slots}, "?": {"unjudged": LATE}}
    return [
        row_of(one.text, window=window, ordinal=one.ordinal, **extras[verdict])
        for one, verdict in zip(window.conclusions, verdicts, strict=False)
    ]


def fact_of(gold_id: str = "g1", **changes: Any) -> GoldFact:
    """Return an explicit, IMPORTANT fact that no conclusion covers."""
    values: dict[str, Any] = {
        "gold_id": gold_id,
        "peer_id": "ana",
        "fact": "ana moved to Porto in March 2026",
        "category": "PLACE",
        "importance": "IMPORTANT",
        "requires_inference": False,
        "source_span": "moved to Porto in March 2026",
        "message_id": "m1",
        "licensed_inference": "ana can be met in Porto",
        "status": "MISSING",
        "covering": (),
        "why": "no conclusion says so",
        "topic": "home",
    }
    return GoldFact(**(values | changes))


def question_of(question_id: str = "q1", **changes: Any) -> Question:
    """Return a question that the conclusions answer rightly."""
    values: dict[str, Any] = {
        "question_id": question_id,
        "question": "What is the cat called?",
        "gold_answer": "Miro",
        "source_span": "My cat Miro",
        "message_id": "m2",
        "written_answer": "Miro",
        "conclusion_ids": (),
        "grade": "ANSWERABLE_CORRECT",
        "graded_by": "harness",
        "why": None,
        "unjudged": None,
    }
    return Question(**(values | changes))


def coverage_row(window: Window, *facts: GoldFact, **changes: Any) -> CoverageRow:
    """Return a scored row with ``facts`` and, unless changed, no questions and no topics."""
    values: dict[str, Any] = {
        "kind": "window",
        "instrument": "coverage",
        "case_id": "w1",
        "outcome": "scored",
        "unjudged": None,
        "calls": (call_of("coverage.gold", "e" * 64),),
        "provenance": provenance_of(window),
        "window_id": window.window_id,
        "conclusion_ids": ids_of(window),
        "gold_source": "judge",
        "gold": facts,
        "dropped": (),
        "matching_unjudged": None,
        "questions": (),
        "questions_unjudged": None,
        "dropped_questions": 0,
        "conclusion_topics": None,
        "topics_unjudged": None,
    }
    return CoverageRow(**(values | changes))


def unjudged_coverage(window: Window, why: Unjudged = LATE) -> CoverageRow:
    """Return a row for which no step gave an answer."""
    return coverage_row(
        window,
        outcome="unjudged",
        unjudged=why,
        gold=None,
        gold_source=None,
        questions=None,
        questions_unjudged=why,
    )


def batch_row(window: Window, *issues: SetIssue, **changes: Any) -> SetLevelRow:
    """Return a scored row with the judge's ``issues``."""
    values: dict[str, Any] = {
        "kind": "batch",
        "instrument": "set_level",
        "case_id": "w1",
        "outcome": "scored",
        "unjudged": None,
        "calls": (call_of("set_level.judge", "f" * 64),),
        "provenance": provenance_of(window),
        "window_id": window.window_id,
        "conclusion_ids": ids_of(window),
        "issues": issues,
        "string_repeats": (),
    }
    return SetLevelRow(**(values | changes))


def unjudged_batch(window: Window, why: Unjudged = LATE) -> SetLevelRow:
    return batch_row(window, outcome="unjudged", unjudged=why, issues=None)


def issue_of(*conclusion_ids: str, **changes: Any) -> SetIssue:
    """Return a redundancy of MEDIUM severity."""
    values: dict[str, Any] = {
        "kind": "REDUNDANCY",
        "severity": "MEDIUM",
        "conclusion_ids": conclusion_ids,
        "evidence": "both say where ana lives",
    }
    return SetIssue(**(values | changes))


def dropped_of(reason: str = "relative_time", **changes: Any) -> DroppedFact:
    values: dict[str, Any] = {
        "fact": "ana moved last year",
        "source_span": "I moved",
        "reason": reason,
        "detail": "last year",
    }
    return DroppedFact(**(values | changes))


def told_rows(window: Window) -> list[ConclusionRow | CoverageRow | SetLevelRow]:
    """Return rows of all instruments with something of each kind, worked out by hand.

    Explicit: CRITICAL kept (4), IMPORTANT lost (2), IMPORTANT MISSING, MINOR PARTIAL, MINOR unknown
    (1), TRIVIAL MISSING. Coverage 4 + 2 + 0.5 + 1 of 10; with quality 4 + 1 + 0.5 of 9.
    """
    moved, lives, cat, likes = ids_of(window)
    facts = (
        fact_of("g1", importance="CRITICAL", status="COVERED", covering=(moved,), why=None),
        fact_of("g2", fact="ana lives in Porto", status="COVERED", covering=(lives,)),
        fact_of("g3", fact="ana plays chess", source_span="play chess", message_id="m3",
                category="HOBBY", topic="games"),
        fact_of("g4", fact="ana's cat is three", importance="MINOR", status="PARTIAL",
                covering=(cat,), source_span="cat Miro is three", message_id="m2", topic="pets"),
        fact_of("g5", fact="ana likes Porto", importance="MINOR", status="COVERED",
                covering=(likes,)),
        fact_of("g6", fact="ana wrote three messages", importance="TRIVIAL", category="CHAT"),
        fact_of("g7", fact="ana is no professional player", requires_inference=True,
                source_span="badly", message_id="m3", topic="games"),
    )  # fmt: skip
    questions = (
        question_of("q1", conclusion_ids=(cat,)),
        question_of("q2", question="Where does ana live?", gold_answer="Porto",
                    written_answer="Lisbon", grade="ANSWERABLE_WRONG", graded_by="judge",
                    why="another city", conclusion_ids=(lives,)),
        question_of("q3", question="Which game?", written_answer="UNANSWERABLE",
                    grade="UNANSWERABLE"),
        question_of("q4", grade=None, graded_by=None, written_answer=None, unjudged=LATE),
    )  # fmt: skip
    coverage = coverage_row(
        window,
        *facts,
        questions=questions,
        dropped=(dropped_of(), dropped_of("no_inference", fact="ana is a person", detail="NONE")),
        dropped_questions=2,
        conclusion_topics={moved: "home", lives: "home", cat: "pets", likes: "home"},
    )
    batch = batch_row(
        window,
        issue_of(moved, lives),
        issue_of(lives, likes, kind="TEMPORAL_CONFUSION", severity="HIGH", evidence="two places"),
        string_repeats=((moved, lives), (cat, likes)),
    )
    return [*verdict_rows(window, "+--?"), coverage, batch]

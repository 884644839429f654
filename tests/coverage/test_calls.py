"""The stated number of calls a window is kept, at its most and at its least."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from evals.coverage.calls import CALLS_A_WINDOW, MAX_QUESTIONS, PURPOSES
from evals.coverage.case import CoverageCase
from evals.coverage.prompts import CoveragePrompts
from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest
from evals.records import Window
from tests.coverage.helpers import ScriptedJudge, inside

MakeWindow = Callable[..., Window]
FACT = {
    "peer_id": "vince",
    "fact": "vince starts at the bakery on 2026-06-08",
    "category": "WORK",
    "importance": "CRITICAL",
    "requires_inference": False,
    "source_span": "at the bakery",
    "licensed_inference": "vince has a job",
}
QUESTIONS = [
    {
        "question": f"Where does vince go on 2026-06-{day:02}?",
        "gold_answer": "the bakery",
        "source_span": "at the bakery",
    }
    for day in range(1, MAX_QUESTIONS + 1)
]


def calls_for(
    case: CoverageCase, context: RunContext, *, facts: list[dict[str, Any]], questions: int
) -> Counter[str]:
    """Judge a window by a judge whose answers need every call that they can; count its calls."""
    named = [item.conclusion_id for item in case.window.conclusions]
    matches = [{"gold_id": "g1", "status": "COVERED", "covering": named, "why": ""}]

    def compare(request: JudgeRequest) -> dict[str, Any]:
        asked = [pair["question_id"] for pair in inside(request, "answers")]
        return {"comparisons": [{"question_id": n, "same": True, "why": ""} for n in asked]}

    judge = ScriptedJudge(
        {
            "gold": {"facts": facts},
            "matching": {"matches": matches},
            "topics": {"topics": [{"item_id": n, "topic": "work"} for n in ("g1", *named)]},
            "question_generation": {"questions": QUESTIONS[:questions]},
            "answering": {"answer": "a bakery in town", "conclusion_ids": named},
            "comparison": compare,
        }
    )
    row = asyncio.run(case.evaluate(judge, context))
    assert [row.unjudged, row.questions_unjudged, row.topics_unjudged] == [None] * 3
    assert [question.unjudged for question in row.questions or ()] == [None] * questions
    assert Counter(call.purpose for call in row.calls) == Counter(
        request.purpose for request in judge.requests
    )
    return Counter(call.purpose for call in row.calls)


def test_a_full_window_costs_the_most_that_is_stated(
    make_window: MakeWindow, prompts: CoveragePrompts, context: RunContext
) -> None:
    case = CoverageCase(window=make_window(), peers=("vince",), prompts=prompts, audited=None)
    made = calls_for(case, context, facts=[FACT], questions=MAX_QUESTIONS)
    assert made == {purpose: CALLS_A_WINDOW[purpose].most for purpose in PURPOSES}
    assert made.total() == 5 + MAX_QUESTIONS


def test_a_window_without_conclusions_under_audited_gold_costs_the_least(
    make_window: MakeWindow, prompts: CoveragePrompts, context: RunContext
) -> None:
    case = CoverageCase(
        window=make_window(conclusions=()), peers=("vince",), prompts=prompts, audited=()
    )
    made = calls_for(case, context, facts=[], questions=1)
    assert made == Counter({purpose: CALLS_A_WINDOW[purpose].least for purpose in PURPOSES})
    assert made.total() == 1

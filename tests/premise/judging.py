"""One conclusion through the premise judge with scripted answers, and pieces of such answers."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from evals.errors import RefusedError
from evals.judging.request import JudgeRequest
from evals.premise.case import PremiseCase, premise_cases
from evals.premise.render import load_premise_prompts
from evals.premise.row import ConclusionRow
from evals.records import Window
from tests.scripted import Script, ScriptedJudge, run_context

Answers = Callable[..., dict[str, Any]]
MakeWindow = Callable[..., Window]
REFUSED = RefusedError("answer", "a refusal", "a judgement", "Look at it.")


def minimality_of_all(request: JudgeRequest) -> dict[str, Any]:
    lines = request.user.splitlines()[1:-1]
    ids = [json.loads(line)["conclusion_id"] for line in lines]
    items = [
        {"conclusion_id": name, "claims": ["one"], "padding": [], "minimality": index / 10}
        for index, name in enumerate(ids)
    ]
    return {"items": items[::-1]}  # any order will do


def case_of(window: Window, ordinal: int = 0) -> PremiseCase:
    return premise_cases([window], load_premise_prompts())[ordinal]


def judge(
    window: Window, script: Script, *, ordinal: int = 0, **policy: Any
) -> tuple[ConclusionRow, ScriptedJudge]:
    # Pass 1 is slowest, so that an order which rests on timing would show.
    whole = {"minimality": minimality_of_all} | dict(script)
    scripted = ScriptedJudge("premise", whole, slow="pass_1")
    row = asyncio.run(case_of(window, ordinal).evaluate(scripted, run_context(**policy)))
    return row, scripted


def missing(*slots: tuple[str, str]) -> list[dict[str, str]]:
    return [{"slot": s, "attribution": a, "evidence": f"{s} in window"} for s, a in slots]


def open_slots(*names: str) -> list[dict[str, str]]:
    return [{"slot": name, "why": f"{name} is open"} for name in names]


def settled(*slots: tuple[str, bool, str]) -> dict[str, Any]:
    return {"slots": [{"slot": s, "said_earlier": e, "evidence": w} for s, e, w in slots]}

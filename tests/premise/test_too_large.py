"""What does not fit into one request is not asked, and the rest is judged as ever."""

import asyncio
import json
import string
from collections.abc import Callable
from typing import Any

import pytest

from evals.errors import TooLargeError
from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.request_text import REQUEST_LIMIT_CHARS
from evals.judging.response import JudgeResponse
from evals.premise.case import PremiseCase, premise_cases
from evals.premise.render import (
    ATTRIBUTION_PURPOSE,
    MINIMALITY_BATCH,
    MINIMALITY_PURPOSE,
    PASS_1_PURPOSE,
    PASS_2_PURPOSE,
    WindowTexts,
    load_premise_prompts,
    minimality_request,
    pass_1_request,
)
from evals.premise.row import ConclusionRow
from evals.records import Call, Window

SETTINGS = JudgeSettings("judge-1", "off")
PROMPTS = load_premise_prompts()
OPENING, TOO_LONG = "vince rows", "x" * REQUEST_LIMIT_CHARS
MakeWindow = Callable[..., Window]
Answers = Callable[..., dict[str, Any]]
MakeCall = Callable[..., Call]


class Judge:
    """Answers both passes as it is told and minimality by the book; notes what it was asked."""

    def __init__(self, make_call: MakeCall, pass_1: dict[str, Any], pass_2: dict[str, Any]) -> None:
        self._make_call = make_call
        self._answers = {PASS_1_PURPOSE: pass_1, PASS_2_PURPOSE: pass_2}
        self.asked: list[str] = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        self.asked.append(request.purpose)
        if request.purpose == MINIMALITY_PURPOSE:
            answer = {"items": [claimed(line) for line in request.user.splitlines()[1:-1]]}
        else:
            answer = self._answers[request.purpose]
        call = self._make_call(request.purpose, request.request_hash)
        return JudgeResponse(json.dumps(answer), "end_turn", call)


def claimed(line: str) -> dict[str, Any]:
    name = json.loads(line)["conclusion_id"]
    return {"conclusion_id": name, "claims": ["one"], "padding": [], "minimality": 1.0}


@pytest.fixture
def judge(make_call: MakeCall, pass_1: Answers, pass_2: Answers) -> Judge:
    open_slot = {"slot": "WHERE", "attribution": "ABSENT_FROM_WINDOW", "evidence": "open"}
    return Judge(make_call, pass_1(), pass_2(interpretation="MISMATCH", missing=[open_slot]))


def judged(window: Window, judge: Judge) -> ConclusionRow:
    (case, *_) = cases_of(window)
    context = RunContext("run-1", "0", None, None, SETTINGS, over_inference_fails=True)
    return asyncio.run(case.evaluate(judge, context))


def cases_of(window: Window) -> tuple[PremiseCase, ...]:
    return premise_cases([window], PROMPTS)


def size_of(request: JudgeRequest) -> int:
    return len(request.prompt.system) + len(request.user)


def test_a_conclusion_at_the_limit_is_asked_about_and_one_over_it_is_refused_whole() -> None:
    room = REQUEST_LIMIT_CHARS - size_of(pass_1_request("", SETTINGS, PROMPTS))
    assert size_of(pass_1_request("x" * room, SETTINGS, PROMPTS)) == REQUEST_LIMIT_CHARS
    with pytest.raises(TooLargeError) as caught:
        pass_1_request("x" * (room + 1), SETTINGS, PROMPTS)
    assert caught.value.where == PASS_1_PURPOSE
    assert caught.value.found == "a request of 150,001 characters (1 conclusion)"
    assert caught.value.wanted == "at most 150,000 characters"
    assert "nothing cut" in caught.value.todo


def test_of_a_conclusion_that_is_too_long_nothing_is_asked(
    make_window: MakeWindow, judge: Judge
) -> None:
    row = judged(make_window(conclusions=[TOO_LONG]), judge)
    assert (judge.asked, row.calls) == ([], ())
    assert (row.outcome, row.unjudged_reason, row.pass_1) == ("unjudged", "too_large", None)
    assert row.minimality_unjudged is not None
    assert row.minimality_unjudged.reason == "too_large"


def test_of_a_window_that_is_too_long_the_blind_pass_and_minimality_are_asked(
    make_window: MakeWindow, judge: Judge
) -> None:
    row = judged(make_window([OPENING, TOO_LONG], [OPENING]), judge)
    assert sorted(judge.asked) == [MINIMALITY_PURPOSE, PASS_1_PURPOSE]
    assert row.unjudged is not None
    assert row.unjudged.reason == "too_large"
    assert "premise.pass_2: found a request of 15" in row.unjudged.detail
    assert "(1 conclusion, 2 messages)" in row.unjudged.detail
    assert row.pass_1 is not None
    assert row.minimality is not None


def test_what_was_said_earlier_can_be_too_long_to_be_searched_and_the_verdict_stands(
    make_window: MakeWindow, judge: Judge
) -> None:
    row = judged(make_window([OPENING], [OPENING], earlier=[TOO_LONG, OPENING]), judge)
    assert sorted(judge.asked) == [MINIMALITY_PURPOSE, PASS_1_PURPOSE, PASS_2_PURPOSE]
    assert (row.outcome, row.attribution_scope) == ("unsound", "window")
    assert [each.attribution for each in row.missing] == ["ABSENT_FROM_WINDOW"]
    assert row.attribution_unjudged is not None
    assert row.attribution_unjudged.reason == "too_large"
    assert "(1 slots, 2 earlier messages)" in row.attribution_unjudged.detail


def test_a_conclusion_that_is_too_long_spoils_no_others_minimality(
    make_window: MakeWindow, judge: Judge
) -> None:
    window = make_window(conclusions=["one", "two", TOO_LONG, "three", "four"])
    found, texts = window.conclusions, WindowTexts(window)
    batches = [texts.minimality_batch(item) for item in found]
    assert batches == [found[:2], found[:2], found[2:3], found[3:], found[3:]]
    assert judged(window, judge).minimality is not None


def test_long_conclusions_are_asked_about_in_parts_that_fit(make_window: MakeWindow) -> None:
    texts = [letter * 7_000 for letter in string.ascii_letters]
    shared = WindowTexts(make_window(conclusions=texts))
    batches = dict.fromkeys(map(shared.minimality_batch, shared.window.conclusions))
    assert [item for batch in batches for item in batch] == list(shared.window.conclusions)
    assert max(map(len, batches)) < MINIMALITY_BATCH
    sizes = [size_of(minimality_request(batch, SETTINGS, PROMPTS)) for batch in batches]
    assert all(REQUEST_LIMIT_CHARS / 2 < size <= REQUEST_LIMIT_CHARS for size in sizes[:-1])


@pytest.mark.parametrize(
    ("messages", "earlier", "wanted"),
    [
        ([TOO_LONG], [OPENING], []),
        ([OPENING], [TOO_LONG], [PASS_2_PURPOSE]),
        ([OPENING], [OPENING], [PASS_2_PURPOSE, ATTRIBUTION_PURPOSE]),
    ],
)
def test_what_will_not_fit_is_not_planned_nor_what_hangs_on_it(
    messages: list[str], earlier: list[str], wanted: list[str], make_window: MakeWindow
) -> None:
    (case,) = cases_of(make_window(messages, [OPENING], earlier=earlier))
    found = case.follow_ups([PASS_1_PURPOSE], SETTINGS)
    assert [each.request.purpose for each in found] == wanted

"""Matching: every gold fact gets a status from the judge, or the whole answer is refused."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from evals.coverage.calls import PURPOSES
from evals.coverage.case import coverage_cases
from evals.coverage.matching import match_gold
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.row import GoldFact
from evals.errors import InvalidOutputError, TooLargeError
from evals.judging.asking import CallLog
from evals.judging.request import JudgeSettings
from evals.records import Window
from tests.coverage.helpers import ScriptedJudge, inside

MakeWindow = Callable[..., Window]
MakeFact = Callable[..., GoldFact]
Match = Callable[..., tuple[tuple[GoldFact, ...], ScriptedJudge]]


@pytest.fixture
def match(
    make_window: MakeWindow,
    make_fact: MakeFact,
    prompts: CoveragePrompts,
    settings: JudgeSettings,
) -> Match:
    def run(
        reply: Mapping[str, Any],
        *,
        facts: int = 2,
        conclusions: Sequence[str] = ("vince bakes", "vince rows"),
    ) -> tuple[tuple[GoldFact, ...], ScriptedJudge]:
        window = make_window(conclusions=conclusions)
        names = {f"c{number}": item.conclusion_id for number, item in enumerate(window.conclusions)}
        matches = [
            {"why": "", **item, "covering": [names.get(one) or one for one in item["covering"]]}
            for item in reply["matches"]
        ]
        (case,) = coverage_cases([window], prompts)
        judge = ScriptedJudge({"matching": {"matches": matches}})
        gold = [make_fact(f"g{number}") for number in range(1, facts + 1)]
        log = CallLog(judge, PURPOSES)
        return asyncio.run(match_gold(case, gold, log, settings)), judge

    return run


def matched(gold_id: str, status: str, *covering: str) -> dict[str, Any]:
    return {"gold_id": gold_id, "status": status, "covering": covering}


def reply(*matches: dict[str, Any]) -> dict[str, Any]:
    return {"matches": list(matches)}


def test_each_fact_gets_its_status_whatever_the_order_of_the_answer(match: Match) -> None:
    facts, judge = match(
        reply(
            {**matched("g3", "MISSING"), "why": "nothing"},
            matched("g2", "PARTIAL", "c0"),
            matched("g1", "COVERED", "c1", "c0"),
        ),
        facts=3,
    )
    ids = [item["conclusion_id"] for item in inside(judge.requests[0], "conclusions")]
    assert [(fact.gold_id, fact.status, fact.covering) for fact in facts] == [
        ("g1", "COVERED", (ids[0], ids[1])),  # in the window's order
        ("g2", "PARTIAL", (ids[0],)),
        ("g3", "MISSING", ()),
    ]
    assert facts[2].why == "nothing"


def test_covering_conclusions_stand_in_the_window_s_order(match: Match) -> None:
    names = [f"c{number}" for number in range(6)]
    facts, judge = match(
        reply(matched("g1", "COVERED", *reversed(names))), facts=1, conclusions=list("abcdef")
    )
    ids = [item["conclusion_id"] for item in inside(judge.requests[0], "conclusions")]
    assert ids != sorted(ids)
    assert facts[0].covering == tuple(ids)


def test_the_call_sees_facts_and_conclusions_and_no_window(match: Match) -> None:
    _, judge = match(reply(matched("g1", "MISSING"), matched("g2", "MISSING")))
    (request,) = judge.requests
    assert inside(request, "gold_facts") == [
        {"gold_id": name, "peer_id": "vince", "fact": f"fact {name}"} for name in ("g1", "g2")
    ]
    assert [item["text"] for item in inside(request, "conclusions")] == [
        "vince bakes",
        "vince rows",
    ]
    assert "I start at the bakery on Monday" not in request.user


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (reply(matched("g1", "COVERED", "c0")), "left out: g2"),
        (reply(), "left out: g1, g2"),
        (reply(*[matched("g1", "MISSING")] * 2, matched("g2", "MISSING")), "too many: g1"),
        (
            reply(matched("g1", "MISSING"), matched("g2", "MISSING"), matched("g3", "MISSING")),
            "too many: g3",
        ),
        (
            reply(matched("g1", "COVERED", "c9"), matched("g2", "MISSING")),
            "g1 COVERED with the unknown conclusions c9",
        ),
        (
            reply(matched("g1", "MISSING"), matched("g2", "PARTIAL", "g1")),
            "g2 PARTIAL with the unknown conclusions g1",
        ),
        (
            reply(matched("g1", "COVERED"), matched("g2", "MISSING")),
            "g1 COVERED with no conclusion",
        ),
        (
            reply(matched("g1", "PARTIAL"), matched("g2", "MISSING")),
            "g1 PARTIAL with no conclusion",
        ),
        (
            reply(matched("g1", "MISSING", "c0"), matched("g2", "MISSING")),
            "g1 MISSING with conclusions",
        ),
        (
            reply(matched("g1", "COVERED", "c0", "c0"), matched("g2", "MISSING")),
            "g1 COVERED with a conclusion named twice",
        ),
        (
            reply(matched("g1", "LIKELY", "c0"), matched("g2", "MISSING")),
            "COVERED",
        ),
    ],
)
def test_an_answer_that_does_not_add_up_is_refused_and_never_read_as_missing(
    match: Match, answer: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidOutputError, match=message):
        match(answer)


def test_without_conclusions_everything_is_missing_and_nobody_is_asked(match: Match) -> None:
    facts, judge = match(reply(), conclusions=())
    assert [(fact.status, fact.covering) for fact in facts] == [("MISSING", ())] * 2
    assert judge.requests == []


def test_without_gold_nobody_is_asked(match: Match) -> None:
    facts, judge = match(reply(), facts=0)
    assert facts == ()
    assert judge.requests == []


def test_a_window_whose_answer_would_not_fit_is_refused_whole(match: Match) -> None:
    with pytest.raises(TooLargeError, match="may need 22,500 tokens") as caught:
        match(reply(), facts=200)
    assert caught.value.where == "w1"

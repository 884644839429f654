"""Gold: what the call sees, and the filters that every fact has to pass."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from evals.coverage.calls import PURPOSES
from evals.coverage.case import coverage_cases
from evals.coverage.gold import Gold, find_gold
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.render import MOST_FACTS
from evals.coverage.schema import GoldItem
from evals.coverage.spans import message_with
from evals.errors import InvalidOutputError, RefusedError
from evals.judging.asking import CallLog
from evals.judging.request import JudgeSettings
from evals.records import Message, Window
from tests.coverage.helpers import ScriptedJudge, inside

MakeWindow = Callable[..., Window]
FACT: Mapping[str, Any] = {
    "peer_id": "vince",
    "fact": "vince starts at the bakery on 2026-06-08",
    "category": "WORK",
    "importance": "IMPORTANT",
    "requires_inference": False,
    "source_span": "start at the bakery on Monday",
    "licensed_inference": "vince has a job from 2026-06-08",
}


@pytest.fixture
def find(
    make_window: MakeWindow, prompts: CoveragePrompts, settings: JudgeSettings
) -> Callable[..., tuple[Gold, ScriptedJudge]]:
    def run(
        *facts: Mapping[str, Any],
        window: Window | None = None,
        audited: tuple[GoldItem, ...] | None = None,
    ) -> tuple[Gold, ScriptedJudge]:
        (case,) = coverage_cases([window or make_window()], prompts)
        judge = ScriptedJudge({"gold": {"facts": [dict(fact) for fact in facts]}})
        asked = find_gold(replace(case, audited=audited), CallLog(judge, PURPOSES), settings)
        return asyncio.run(asked), judge

    return run


Find = Callable[..., tuple[Gold, ScriptedJudge]]


def test_a_fact_is_kept_with_the_message_that_holds_its_span(
    find: Find, make_window: MakeWindow
) -> None:
    window = make_window(["Morning!", "So: I start at the bakery on Monday", "bye"])
    gold, _ = find(FACT, window=window)
    assert (gold.source, gold.dropped) == ("judge", ())
    (fact,) = gold.facts
    assert (fact.gold_id, fact.message_id) == ("g1", "m2")
    assert {name: getattr(fact, name) for name in FACT} == FACT
    assert (fact.status, fact.covering, fact.why, fact.topic) == (None, (), None, None)


@pytest.mark.parametrize(
    ("changed", "reason", "detail"),
    [
        ({"peer_id": "assistant"}, "unknown_peer", "'assistant', not one of 'vince'"),
        ({"source_span": "start at the bakery on Tuesday"}, "span_not_found", "no message"),
        ({"source_span": " "}, "span_not_found", "no message"),
        ({"licensed_inference": "NONE"}, "no_inference", "'NONE'"),
        ({"licensed_inference": "None."}, "no_inference", "'None.'"),
        ({"licensed_inference": ""}, "no_inference", "''"),
        ({"fact": "vince starts at the bakery next Monday"}, "relative_time", "'next Monday'"),
        ({"fact": "vince recently moved"}, "relative_time", "'recently'"),
    ],
)
def test_a_fact_that_fails_a_filter_is_dropped_with_its_reason(
    find: Find, changed: dict[str, Any], reason: str, detail: str
) -> None:
    gold, _ = find(FACT, {**FACT, **changed}, {**FACT, "fact": "vince bakes"})
    assert [(fact.gold_id, fact.fact) for fact in gold.facts] == [
        ("g1", FACT["fact"]),
        ("g2", "vince bakes"),
    ]
    (dropped,) = gold.dropped
    assert dropped.reason == reason
    assert detail in dropped.detail
    assert dropped.fact == {**FACT, **changed}["fact"]


def test_an_exact_repeat_is_dropped_and_counted(find: Find, make_window: MakeWindow) -> None:
    window = make_window(conclusions=[("may", "may rows")])
    again = {**FACT, "fact": "Vince  starts at the bakery on 2026-06-08."}
    gold, _ = find(FACT, again, {**FACT, "peer_id": "may"}, window=window)
    assert [(fact.gold_id, fact.peer_id) for fact in gold.facts] == [("g1", "vince"), ("g2", "may")]
    (dropped,) = gold.dropped
    assert (dropped.reason, dropped.detail) == ("repeated", "the same as g1")


def test_a_refused_fact_makes_no_repeat_of_the_next(find: Find) -> None:
    gold, _ = find({**FACT, "licensed_inference": "NONE"}, FACT)
    assert [fact.fact for fact in gold.facts] == [FACT["fact"]]
    assert [dropped.reason for dropped in gold.dropped] == ["no_inference"]


def test_a_fact_that_fails_several_filters_is_counted_once(find: Find) -> None:
    worst = {"peer_id": "may", "source_span": "?", "fact": "now", "licensed_inference": "NONE"}
    gold, _ = find({**FACT, **worst})
    assert gold.facts == ()
    assert [dropped.reason for dropped in gold.dropped] == ["unknown_peer"]


def test_the_call_sees_peers_and_window_and_no_conclusion(
    find: Find, make_window: MakeWindow
) -> None:
    window = make_window(
        [("vince", "I start at the bakery on Monday"), ("may", "and I row")],
        [("may", "may rows"), ("vince", "vince starts at Holt's")],
        peer_id=None,
    )
    gold, judge = find(FACT, {**FACT, "peer_id": "may", "source_span": "I row"}, window=window)
    (request,) = judge.requests
    assert inside(request, "peers") == ["may", "vince"]
    assert inside(request, "most_facts") == [MOST_FACTS]
    assert [item["text"] for item in inside(request, "window")] == [
        "I start at the bakery on Monday",
        "and I row",
    ]
    assert "Holt" not in json.dumps(request.params)
    assert [fact.peer_id for fact in gold.facts] == ["vince", "may"]


def test_no_fact_is_an_answer_too(find: Find) -> None:
    gold, _ = find()
    assert (gold.facts, gold.dropped) == ((), ())


def test_gold_that_a_person_corrected_stands_in_for_the_call_and_passes_the_same_filters(
    find: Find,
) -> None:
    audited = (
        GoldItem.model_validate(FACT),
        GoldItem.model_validate({**FACT, "fact": "vince moves tomorrow"}),
    )
    gold, judge = find(audited=audited)
    assert judge.requests == []
    assert gold.source == "audited"
    assert [fact.fact for fact in gold.facts] == [FACT["fact"]]
    assert [dropped.reason for dropped in gold.dropped] == ["relative_time"]


def test_audited_gold_without_a_fact_is_no_reason_to_ask(find: Find) -> None:
    gold, judge = find(audited=())
    assert (gold.source, gold.facts, judge.requests) == ("audited", (), [])


def test_a_fact_without_text_is_invalid_output(find: Find) -> None:
    with pytest.raises(InvalidOutputError, match="a fact without text"):
        find({**FACT, "fact": "  "})


@pytest.mark.parametrize(
    "changed", [{"importance": "HIGH"}, {"requires_inference": "no"}, {"extra": 1}]
)
def test_an_answer_outside_the_schema_is_invalid_output(
    find: Find, changed: dict[str, Any]
) -> None:
    with pytest.raises(InvalidOutputError):
        find({**FACT, **changed})


def test_a_refusal_is_not_an_empty_gold(
    make_window: MakeWindow, prompts: CoveragePrompts, settings: JudgeSettings
) -> None:
    (case,) = coverage_cases([make_window()], prompts)
    refused = RefusedError("answer", "a refusal", "a judgement", "Look at it.")
    log = CallLog(ScriptedJudge({"gold": refused}), PURPOSES)
    with pytest.raises(RefusedError):
        asyncio.run(find_gold(case, log, settings))


def messages(*texts: str) -> list[Message]:
    return [
        Message(message_id=f"m{number}", peer_id="may", text=text, sent_at=None)
        for number, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize(
    ("span", "text"),
    [
        ("the old mill", "I rent the  old\n mill"),
        ("I don't", "I don\u2019t"),
        ('"sold"', "it is \u201csold\u201d"),
        ("2020-2024", "from 2020\u20132024"),
        ("caf\u00e9", "the cafe\u0301 at the corner"),
        ("\uff21\uff22\uff23", "the ABC shop"),
        ("old mill", "the old\u200b mill"),
        ("  old mill ", "the old mill"),
        ("古い水車", "私は古い水車を借りた"),
    ],
)
def test_a_span_is_found_in_another_dress(span: str, text: str) -> None:
    assert message_with(span, messages("hello", text)) == "m2"


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        ("the old mill", ["The Old Mill"]),  # copied exactly: case too
        ("the old … mill", ["the old and dusty mill"]),
        ("the old mill", ["I rent the old", "mill"]),  # one message, not two
        ("", ["anything"]),
        ("\u200b \n", ["anything"]),
        ("words", []),
        ("I", ["I rent the old mill"]),
        ("to", ["I go to Oslo"]),
        ("a, b", ["take a, b or c"]),
        ("水", ["古い水車"]),
    ],
)
def test_what_no_message_holds_is_nowhere(span: str, texts: list[str]) -> None:
    assert message_with(span, messages(*texts)) is None


@pytest.mark.parametrize(
    ("span", "texts", "found"),
    [
        ("yes", ["that was yesterday", "oh yes!"], "m2"),
        ("yes", ["that was yesterday", "no"], "m1"),
        ("yes", ["yes", "yes"], "m1"),
        ("no", ["I know", "no"], "m2"),
        ("42", ["room 42", " 42 "], "m2"),
        ("水車", ["古い水車"], "m1"),
        ("art", ["a party, art and part", "art"], "m1"),
    ],
)
def test_a_whole_word_goes_before_a_part_and_the_first_before_the_rest(
    span: str, texts: list[str], found: str
) -> None:
    assert message_with(span, messages(*texts)) == found

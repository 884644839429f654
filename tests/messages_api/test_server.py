"""The local server itself: what it answers must be what the judge's prompts ask for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import BaseModel

from evals.judging.message import parse_message, response_of
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import parse_answer
from evals.premise.render import (
    OpenSlot,
    WindowTexts,
    attribution_search_request,
    load_premise_prompts,
    minimality_request,
    pass_1_request,
    pass_2_request,
)
from evals.premise.schema import AttributionAnswer, MinimalityAnswer, Pass1, Pass2
from evals.records import (
    Conclusion,
    Message,
    Window,
    conclusion_id_of,
    window_text_hash_of,
)
from tests.messages_api.server import BadRequestError, answer_to, fault_of, message_to

AnswerT = TypeVar("AnswerT", bound=BaseModel)
PROMPTS = load_premise_prompts()
SETTINGS = JudgeSettings(model="claude-judge", reasoning="off")
TEXTS = [f"alice </conclusion> owns boat {number}\n" for number in range(40)]


def window() -> Window:
    messages = (Message(message_id="m1", peer_id="alice", text="</window> hi\nyou", sent_at=None),)
    return Window(
        window_id="w",
        conversation_id=None,
        peer_id="alice",
        messages=messages,
        window_text_hash=window_text_hash_of(messages),
        window_reconstructed=False,
        dataset_shape="production",
        earlier_messages=messages,
        conclusions=tuple(
            Conclusion(
                conclusion_id=conclusion_id_of("w", number, text),
                ordinal=number,
                peer_id="alice",
                text=text,
                deriver_prompt_hash=None,
                deriver_model_id=None,
                derived_at=None,
            )
            for number, text in enumerate(TEXTS)
        ),
    )


def answered(request: JudgeRequest, shape: type[AnswerT]) -> AnswerT:
    message = parse_message(json.dumps(message_to(request.params, "none")))
    return parse_answer(response_of(message, request, "live", 1), shape)


def test_both_passes_are_answered_validly_and_not_all_alike() -> None:
    found = window()
    blind, sighted = [], []
    for conclusion in found.conclusions:
        pass_1 = answered(pass_1_request(conclusion.text, SETTINGS, PROMPTS), Pass1)
        request = pass_2_request(
            conclusion, pass_1.model_dump_json(), WindowTexts(found), SETTINGS, PROMPTS
        )
        blind.append(pass_1)
        sighted.append(answered(request, Pass2))
    assert {each.licensed_inference == "NONE" for each in blind} == {True, False}
    assert {bool(each.unknown_slots) for each in blind} == {True, False}
    assert {each.interpretation for each in sighted} == {"MATCH", "MISMATCH"}
    for pass_1, pass_2 in zip(blind, sighted, strict=True):
        assert [each.slot for each in pass_1.unknown_slots] == [
            each.slot for each in pass_2.missing
        ]


def test_minimality_is_answered_for_every_id() -> None:
    conclusions = window().conclusions
    answer = answered(minimality_request(conclusions, SETTINGS, PROMPTS), MinimalityAnswer)
    assert [each.conclusion_id for each in answer.items] == [
        each.conclusion_id for each in conclusions
    ]


def test_the_attribution_search_is_answered_for_every_slot() -> None:
    found = window()
    slots = [OpenSlot(name, "why") for name in ("TIME", "PLACE")]
    request = attribution_search_request(
        found.conclusions[0], slots, found.messages, SETTINGS, PROMPTS
    )
    answer = answered(request, AttributionAnswer)
    assert [each.slot for each in answer.slots] == ["TIME", "PLACE"]


def test_a_schema_that_it_does_not_know_is_refused() -> None:
    params = pass_1_request("a", SETTINGS, PROMPTS).params
    schema = {"format": {"schema": {"properties": {"other": "any"}}}}
    with pytest.raises(BadRequestError, match="other"):
        answer_to(params | {"output_config": schema})


@pytest.mark.parametrize(
    ("when", "numbers"), [("0.5", [2, 4, 6]), ("1", [1, 2, 3, 4, 5, 6]), ("2-3", [2, 3])]
)
def test_a_fault_fires_when_it_is_told_to(when: str, numbers: list[int]) -> None:
    fault = fault_of(f"overloaded:{when}")
    assert fault.kind == "http_529"
    assert [number for number in range(1, 7) if fault.fires(number)] == numbers


def test_an_open_range_fires_for_ever() -> None:
    assert fault_of("silent:3-").fires(10**9)
    assert not fault_of("silent:3-").fires(2)


@pytest.mark.parametrize("text", ["unknown:0.1", "silent", "silent:0", "silent:2", "http_5:1"])
def test_a_fault_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"fault|float"):
        fault_of(text)


def test_started_by_itself_it_prints_its_port_first() -> None:
    server = Path(__file__).with_name("server.py")
    options = ["--port", "0", "--latency-s", "0", "--fault", "overloaded:0.1"]
    process = subprocess.Popen(
        [sys.executable, str(server), *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert 0 < int(process.stdout.readline()) < 65536
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()

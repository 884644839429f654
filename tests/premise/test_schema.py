"""Answers are parsed strictly: nothing is coerced, filled in or guessed at."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from evals.errors import InvalidOutputError, RefusedError, TruncatedError
from evals.judging.response import JudgeResponse, parse_answer, schema_of
from evals.premise.schema import AttributionAnswer, MinimalityAnswer, Pass1, Pass2
from evals.records import Call

Answers = Callable[..., dict[str, Any]]


@pytest.fixture
def response(make_call: Callable[..., Call]) -> Callable[..., JudgeResponse]:
    def build(text: str, stop_reason: str | None = "end_turn") -> JudgeResponse:
        return JudgeResponse(
            text=text, stop_reason=stop_reason, call=make_call("premise.pass_1", "a" * 64)
        )

    return build


def without(answer: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != key}


def test_an_exact_answer_is_read(response: Callable[..., JudgeResponse], pass_1: Answers) -> None:
    slots = [{"slot": "TIME", "why": "no date"}]
    text = json.dumps(pass_1(unknown_slots=slots, decontextuality=1, labels=["a", "b"]))
    answer = parse_answer(response(f"\n{text}\n"), Pass1)
    assert [slot.slot for slot in answer.unknown_slots] == ["TIME"]
    assert answer.decontextuality == 1.0
    assert answer.labels == ("a", "b")


def test_an_unknown_stop_reason_is_no_fault(
    response: Callable[..., JudgeResponse], pass_1: Answers
) -> None:
    assert parse_answer(response(json.dumps(pass_1()), None), Pass1).force == "plan"


@pytest.mark.parametrize("key", list(Pass1.model_fields))
def test_a_missing_key_of_pass_1_is_invalid(
    response: Callable[..., JudgeResponse], pass_1: Answers, key: str
) -> None:
    with pytest.raises(InvalidOutputError, match=f"{key}: Field required"):
        parse_answer(response(json.dumps(without(pass_1(), key))), Pass1)


@pytest.mark.parametrize("key", list(Pass2.model_fields))
def test_a_missing_key_of_pass_2_is_invalid(
    response: Callable[..., JudgeResponse], pass_2: Answers, key: str
) -> None:
    with pytest.raises(InvalidOutputError, match=f"{key}: Field required"):
        parse_answer(response(json.dumps(without(pass_2(), key))), Pass2)


@pytest.mark.parametrize(
    "changed",
    [
        {"decontextuality": "0.9"},
        {"decontextuality": 1.01},
        {"decontextuality": -0.1},
        {"decontextuality": None},
        {"decontextuality": True},
        {"bundled": "false"},
        {"bundled": 0},
        {"labels": "vague"},
        {"labels": [1]},
        {"labels": None},
        {"unknown_slots": {}},
        {"unknown_slots": ["TIME"]},
        {"unknown_slots": [{"slot": "TIME"}]},
        {"unknown_slots": [{"slot": "TIME", "why": "x", "how": "y"}]},
        {"reconstruction": None},
        {"licensed_inference": "None."},
        {"licensed_inference": "none"},
        {"licensed_inference": " NONE"},
        {"licensed_inference": "NONE."},
        {"licensed_inference": " "},
        {"licensed_inference": ""},
        {"licensed_inference": None},
    ],
)
def test_a_wrong_value_in_pass_1_is_invalid_and_named(
    response: Callable[..., JudgeResponse], pass_1: Answers, changed: dict[str, Any]
) -> None:
    (key,) = changed
    with pytest.raises(InvalidOutputError, match=key):
        parse_answer(response(json.dumps(pass_1(**changed))), Pass1)


@pytest.mark.parametrize(
    "value",
    [
        "NONE\n",
        "None",
        "NONE!",
        "NONE …",
        "'NONE'",
        '"none".',
        "*NONE*",
        "**None**",
        "_NONE_",
        "`NONE`",
        "(NONE)",
        "- NONE",
        "\u200bNONE\ufeff",
        "\uff2e\uff2f\uff2e\uff25",
        "NONE (only reports that talk took place)",
        "NONE: tautology",
        "NONE:tautology",
        "None - vacuous",
        "None \u2014 vacuous",
        "None, since the object is missing",
        "NONE because it is a tautology",
        "None. The statement only reports that talk took place.",
        "NONE\n\nThe statement is vacuous.",
        "None of.",
        "None other.",
    ],
)
def test_none_in_other_dress_or_with_a_reason_is_no_inference(
    response: Callable[..., JudgeResponse], pass_1: Answers, value: str
) -> None:
    with pytest.raises(InvalidOutputError, match="neither an inference nor exactly NONE"):
        parse_answer(response(json.dumps(pass_1(licensed_inference=value))), Pass1)


@pytest.mark.parametrize(
    "value",
    [
        "NONE",
        "None of her siblings can stand in for her at the shop.",
        '"None of the keys fit" means that she needs a locksmith.',
        "None but Ida has a key.",
        "None other than Ida can open the shop.",
        "Nonetheless she can be asked to drive.",
        "Nonesuch Street is where to find her.",
        "Known allergies: none.",
        "She has none.",
    ],
)
def test_an_inference_that_holds_the_word_none_is_kept_as_it_is(
    response: Callable[..., JudgeResponse], pass_1: Answers, value: str
) -> None:
    answer = parse_answer(response(json.dumps(pass_1(licensed_inference=value))), Pass1)
    assert answer.licensed_inference == value


@pytest.mark.parametrize(
    "changed",
    [
        {"interpretation": "match"},
        {"time_status": "PRESENT"},
        {"time_status": None},
        {"force_preserved": "true"},
        {"missing": [{"slot": "TIME", "attribution": "UNKNOWN", "evidence": ""}]},
        {"missing": [{"slot": "TIME", "attribution": "ABSENT_EVERYWHERE"}]},
        {"unsupported_elements": [{"element": "x", "kind": "FABRICATION"}]},
    ],
)
def test_a_wrong_value_in_pass_2_is_invalid_and_named(
    response: Callable[..., JudgeResponse], pass_2: Answers, changed: dict[str, Any]
) -> None:
    (key,) = changed
    with pytest.raises(InvalidOutputError, match=key):
        parse_answer(response(json.dumps(pass_2(**changed))), Pass2)


@pytest.mark.parametrize(
    "dress",
    [
        lambda text: f"```json\n{text}\n```",
        lambda text: f"Here it is: {text}",
        lambda text: f"{text}\n{text}",
        lambda text: f"[{text}]",
        json.dumps,
        lambda text: text[:-1],
        lambda _: "",
        lambda _: "null",
        lambda text: text.replace("0.9", "NaN"),
        lambda text: text.replace("0.9", "1e999"),
        lambda text: text[:-1] + ', "verdict": "pass"}',
    ],
)
def test_anything_around_or_beside_the_object_is_invalid(
    response: Callable[..., JudgeResponse], pass_1: Answers, dress: Callable[[str], str]
) -> None:
    with pytest.raises(InvalidOutputError):
        parse_answer(response(dress(json.dumps(pass_1()))), Pass1)


def test_a_key_twice_is_invalid_and_named_at_any_depth(
    response: Callable[..., JudgeResponse], pass_1: Answers
) -> None:
    text = json.dumps(pass_1(unknown_slots=[{"slot": "TIME", "why": "no date"}]))
    for doubled, key in (
        (text[:-1] + ', "unknown_slots": []}', "unknown_slots"),
        (text[:-1] + ', "force": "plan"}', "force"),
        (text.replace('"why":', '"slot": "PLACE", "why":'), "slot"),
    ):
        with pytest.raises(InvalidOutputError, match=f"the key '{key}' twice"):
            parse_answer(response(doubled), Pass1)


class Unbounded(BaseModel):
    """An answer whose own fields check no range."""

    share: float


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_invalid_where_no_range_is_checked_too(
    response: Callable[..., JudgeResponse], number: str
) -> None:
    with pytest.raises(InvalidOutputError, match=number):
        parse_answer(response(f'{{"share": {number}}}'), Unbounded)


def test_nesting_without_end_is_invalid(response: Callable[..., JudgeResponse]) -> None:
    with pytest.raises(InvalidOutputError, match="nested too deeply"):
        parse_answer(response("[" * 200_000), Pass1)


@pytest.mark.parametrize(
    ("stop_reason", "error"),
    [
        ("refusal", RefusedError),
        ("max_tokens", TruncatedError),
        ("model_context_window_exceeded", TruncatedError),
    ],
)
def test_a_refusal_or_a_cut_is_told_before_the_text_is_read(
    response: Callable[..., JudgeResponse],
    pass_1: Answers,
    stop_reason: str,
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        parse_answer(response(json.dumps(pass_1()), stop_reason), Pass1)


@pytest.mark.parametrize("minimality", [-0.01, 1.5, "1", None])
def test_a_minimality_outside_0_to_1_is_invalid(
    response: Callable[..., JudgeResponse], minimality: object
) -> None:
    item = {"conclusion_id": "c", "claims": [], "padding": [], "minimality": minimality}
    with pytest.raises(InvalidOutputError, match="minimality"):
        parse_answer(response(json.dumps({"items": [item]})), MinimalityAnswer)


@pytest.mark.parametrize("shape", [Pass1, Pass2, MinimalityAnswer, AttributionAnswer])
def test_the_schema_sent_is_closed_and_asks_for_every_key(shape: type[Any]) -> None:
    def check(node: object) -> int:
        if isinstance(node, list):
            return sum(check(item) for item in node)
        if not isinstance(node, dict):
            return 0
        objects = 0
        if "properties" in node:
            assert node["additionalProperties"] is False
            assert sorted(node["required"]) == sorted(node["properties"])
            objects = 1
        assert "$ref" not in node
        return objects + sum(check(item) for item in node.values())

    assert check(schema_of(shape)) >= 1
    assert list(schema_of(shape)["properties"]) == list(shape.model_fields)

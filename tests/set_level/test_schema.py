"""Answers are parsed strictly: two kinds, three severities, two or more ids each once."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evals.errors import InvalidOutputError
from evals.judging.response import JudgeResponse, parse_answer, schema_of
from evals.records import Call
from evals.set_level.schema import SetIssuesAnswer

Issue = Callable[..., dict[str, Any]]
Parse = Callable[[object], SetIssuesAnswer]


@pytest.fixture
def parse(make_call: Callable[..., Call]) -> Parse:
    def parsed(answer: object) -> SetIssuesAnswer:
        text = json.dumps(answer)
        response = JudgeResponse(text=text, stop_reason="end_turn", call=make_call("a" * 64))
        return parse_answer(response, SetIssuesAnswer)

    return parsed


def test_an_exact_answer_is_read(parse: Parse, issue: Issue) -> None:
    clash = issue("c3", "c1", kind="TEMPORAL_CONFUSION", severity="HIGH", evidence="both on 4 June")
    answer = parse({"set_issues": [issue("c1", "c2", "c4", "c5"), clash]})
    assert [item.kind for item in answer.set_issues] == ["REDUNDANCY", "TEMPORAL_CONFUSION"]
    assert answer.set_issues[0].conclusion_ids == ("c1", "c2", "c4", "c5")
    assert answer.set_issues[1].model_dump(mode="json") == clash
    assert parse({"set_issues": []}).set_issues == ()


@pytest.mark.parametrize("key", ["kind", "severity", "conclusion_ids", "evidence"])
def test_a_missing_key_is_invalid(parse: Parse, issue: Issue, key: str) -> None:
    cut = {name: value for name, value in issue("c1", "c2").items() if name != key}
    with pytest.raises(InvalidOutputError, match=rf"set_issues\.0\.{key}: Field required"):
        parse({"set_issues": [cut]})


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "MISSING_ANCHOR"},
        {"kind": "redundancy"},
        {"severity": "CRITICAL"},
        {"severity": None},
        {"conclusion_ids": []},
        {"conclusion_ids": ["c1"]},
        {"conclusion_ids": ["c1", "c2", "c1"]},
        {"conclusion_ids": [1, 2]},
        {"conclusion_ids": "c1 c2"},
        {"evidence": " "},
        {"evidence": None},
    ],
)
def test_a_wrong_value_is_invalid_and_named(
    parse: Parse, issue: Issue, changed: dict[str, Any]
) -> None:
    (key,) = changed
    with pytest.raises(InvalidOutputError, match=rf"set_issues\.0\.{key}"):
        parse({"set_issues": [issue("c1", "c2") | changed]})


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"set_issues": None},
        {"set_issues": {}},
        {"set_issues": [], "valid": ["c1"]},
    ],
)
def test_anything_but_the_one_list_is_invalid(parse: Parse, answer: object) -> None:
    with pytest.raises(InvalidOutputError):
        parse(answer)


def test_an_extra_key_in_an_issue_is_invalid(parse: Parse, issue: Issue) -> None:
    with pytest.raises(InvalidOutputError, match="Extra inputs"):
        parse({"set_issues": [issue("c1", "c2") | {"confidence": 1}]})


def test_the_schema_sent_is_closed_and_holds_the_two_kinds_alone() -> None:
    schema = schema_of(SetIssuesAnswer)
    item = schema["properties"]["set_issues"]["items"]
    for node in (schema, item):
        assert node["additionalProperties"] is False
        assert list(node["required"]) == list(node["properties"])
    assert item["properties"]["kind"]["enum"] == ["REDUNDANCY", "TEMPORAL_CONFUSION"]
    assert item["properties"]["severity"]["enum"] == ["LOW", "MEDIUM", "HIGH"]

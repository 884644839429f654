import json
from typing import Any

import pytest

from evals.errors import WrongModelError
from evals.judging.message import (
    ModelPin,
    NotAMessageError,
    is_pinned_model,
    parse_message,
    response_of,
)
from tests.judging.helpers import MODEL, message_for, request_for


def test_text_blocks_are_joined_and_thinking_is_left_out() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": '{"a":'},
        {"type": "text", "text": " 1}"},
    ]
    assert parse_message(message_for("", content=content)).text == '{"a": 1}'


def test_a_message_of_an_unknown_origin_has_null_where_nobody_noted_it() -> None:
    message = parse_message(message_for("x", stop_reason=None, usage=None))
    response = response_of(message, request_for("a"), "recording", 0)
    assert response.stop_reason is None
    call = response.call
    assert [call.input_tokens, call.output_tokens] == [None, None]
    assert [call.cache_read_tokens, call.cache_write_tokens] == [None, None]


def test_a_row_records_who_asked_what_and_what_it_cost() -> None:
    request = request_for("a", purpose="premise.pass_2")
    message = parse_message(message_for("x", model=f"{MODEL}-20260101"))
    call = response_of(message, request, "live", 3).call
    assert (call.purpose, call.request_hash) == ("premise.pass_2", request.request_hash)
    assert (call.model_asked, call.model_served) == (MODEL, f"{MODEL}-20260101")
    assert (call.source, call.attempts) == ("live", 3)
    assert (call.input_tokens, call.output_tokens, call.cache_read_tokens) == (7, 3, 5)
    assert call.cache_write_tokens is None


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"type": "error"}, "type"),
        ({"role": "user"}, "role"),
        ({"model": None}, "model"),
        ({"content": "text"}, "content"),
        ({"content": [{"type": "text"}]}, "content.0.text.text"),
        ({"content": [{"type": "text", "text": 1}]}, "content.0.text.text"),
        ({"content": ["text"]}, "content.0"),
        ({"stop_reason": 1}, "stop_reason"),
        ({"usage": {"output_tokens": 3}}, "usage.input_tokens"),
        ({"usage": {"input_tokens": "7", "output_tokens": 3}}, "usage.input_tokens"),
    ],
)
def test_what_is_no_message_is_refused_with_the_place(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(NotAMessageError, match=named):
        parse_message(message_for("x", **changed))


@pytest.mark.parametrize("key", ["type", "role", "model", "content", "stop_reason", "usage"])
def test_a_key_that_is_not_there_is_not_taken_for_null(key: str) -> None:
    message = json.loads(message_for("x"))
    del message[key]
    with pytest.raises(NotAMessageError, match=key):
        parse_message(json.dumps(message))


@pytest.mark.parametrize("text", ["", "<html>busy</html>", "[]", "null", '{"type": "message"'])
def test_other_texts_are_no_message(text: str) -> None:
    with pytest.raises(NotAMessageError):
        parse_message(text)


@pytest.mark.parametrize(
    ("served", "fits"),
    [
        ("claude-judge", True),
        ("claude-judge-20260101", True),
        ("claude-judge-2026010", False),
        ("claude-judge-20260101-v2", False),
        ("claude-judge-mini", False),
        ("claude-judge-20260101\n", False),
        ("claude_judge", False),
        ("", False),
    ],
)
def test_only_the_asked_model_or_its_dated_snapshot_is_the_pinned_one(
    served: str, *, fits: bool
) -> None:
    assert is_pinned_model("claude-judge", served) is fits


def test_a_dot_in_the_model_id_stands_for_a_dot() -> None:
    assert not is_pinned_model("claude-1.5", "claude-1x5")


def test_one_run_sees_one_served_model_for_each_asked_one() -> None:
    pin = ModelPin()
    pin.check("here", "a", "a-20260101")
    pin.check("here", "b", "b")
    pin.check("here", "a", "a-20260101")
    with pytest.raises(WrongModelError, match="after answers of 'a-20260101'"):
        pin.check("here", "a", "a-20260601")


def test_another_model_is_refused_with_both_names() -> None:
    with pytest.raises(WrongModelError, match=r"'gpt'.*'claude-judge'"):
        ModelPin().check("here", "claude-judge", "gpt")

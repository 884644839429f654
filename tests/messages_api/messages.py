"""The Message that answers a body, as it should be or spoilt, and the API's form of an error."""

import hashlib
import json

from tests.messages_api.answers import Json, answer_to

_SUFFIXES = {"other_model": "-other", "snapshot": "-20260101", "later_snapshot": "-20260601"}
SPOILT = frozenset(
    [
        *("truncated", "refusal", "fenced", "non_json", "wrong_schema", "no_message"),
        *("other_model", "snapshot", "later_snapshot"),
    ]
)
"""What ``message_to`` can be told to do to an answer."""


def message_to(body: Json, fault: str) -> Json:
    """Return the Message that answers ``body``; ``fault`` is one of ``SPOILT``, or any other word.

    Raises:
        BadRequestError: no prompt asks for such an answer, or the user text lacks a part.
    """
    if fault == "no_message":
        return {"hello": "there"}
    text = json.dumps(answer_to(body), ensure_ascii=False)
    dressed = {
        "truncated": text[: len(text) // 2],
        "refusal": "",
        "fenced": f"```json\n{text}\n```",
        "non_json": "I would say that it is a good one.",
        "wrong_schema": json.dumps({"verdict": "good"}),
    }
    stop_reasons = {"truncated": "max_tokens", "refusal": "refusal"}
    said = dressed.get(fault, text)
    model = body["model"] + (_SUFFIXES.get(fault, ""))
    return {
        "id": f"msg_{body_hash(body)[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": said}] if said else [],
        "stop_reason": stop_reasons.get(fault, "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": len(body["messages"][0]["content"]) // 4,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": len(body["system"][0]["text"]) // 4,
            "output_tokens": len(said) // 4,
        },
    }


def body_hash(body: Json) -> str:
    """Return sha256 of the body in canonical form: 64 hex digits."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def error_of(kind: str, message: str, **details: str) -> Json:
    """Return an error as the API words it; ``details`` where there are some."""
    error: Json = {"type": kind, "message": message}
    return {"type": "error", "error": error | ({"details": details} if details else {})}

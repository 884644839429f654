"""One judge response, and the one place where its text becomes a typed answer."""

import json
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from evals.errors import InvalidOutputError, RefusedError, TruncatedError
from evals.judging.request import JudgeRequest
from evals.records import Call
from evals.traces.strict_json import parse_json
from evals.untrusted import for_terminal

AnswerT = TypeVar("AnswerT", bound=BaseModel)


@dataclass(frozen=True)
class JudgeResponse:
    """An answer as the API gave it; not yet parsed."""

    text: str
    """All text blocks, joined."""
    stop_reason: str | None
    """As the API says it; None where the answer's origin does not say."""
    call: Call
    """What a row records of this answer."""


class Judge(Protocol):
    """The one seam between instruments and transports."""

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Return the answer to ``request``, from store, recording or API.

        Concurrent equal requests share one call.

        Raises:
            JudgeError: there is no usable answer; its ``reason`` says why.
            IsolationError: the request's guard found a leak; nothing was sent.
            WrongModelError: another model answered than the pinned one.
        """
        ...


def parse_answer(response: JudgeResponse, shape: type[AnswerT]) -> AnswerT:
    """Return the answer as ``shape``, strictly: one JSON object, exact keys, no coercion.

    A key that stands twice, NaN and infinities are faults: which value was meant nobody can tell.

    Raises:
        RefusedError: the model declined.
        TruncatedError: the token limit or the context window cut the answer.
        InvalidOutputError: anything else than the object asked for, fenced JSON included.
    """
    where = f"answer {response.call.request_hash[:12]} to {response.call.purpose}"
    if response.stop_reason == "refusal":
        raise RefusedError(
            where,
            "a refusal",
            "a judgement",
            "Look at what was asked about; rephrase the prompt if it is harmless.",
        )
    if response.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
        raise TruncatedError(
            where,
            f"an answer cut off ({response.stop_reason}) after {len(response.text)} characters",
            "a whole answer",
            "Raise the token limit of this prompt in its instrument.",
        )
    try:
        # For its faults alone: pydantic lets doubled keys pass. What it then reads is the text, for
        # in strict mode it takes an array for a tuple nowhere else.
        parse_json(response.text)
        return shape.model_validate_json(response.text, strict=True)
    except ValueError as error:
        raise InvalidOutputError(
            where,
            f"{for_terminal(response.text, 80)!r} ({for_terminal(_problems(error), 300)})",
            f"one JSON object with the keys {', '.join(shape.model_fields)}",
            "Ask again with another --judge-repeat, or check the prompt.",
        ) from error


def _problems(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'the whole'}: {item['msg']}"
        for item in error.errors(include_url=False)[:3]
    )


def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema that the API is given for ``shape``: closed objects, no references.

    Bounds and lengths stay out of the schema (the API refuses them) and are checked by
    ``parse_answer``.
    """
    schema = shape.model_json_schema()
    definitions = schema.pop("$defs", {})
    inlined = json.loads(json.dumps(schema))
    result = _inline(inlined, definitions)
    assert isinstance(result, dict)
    return result


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    dropped = {
        "title",
        "description",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    }
    return {
        key: {name: _inline(sub, definitions) for name, sub in value.items()}
        if key == "properties"
        else _inline(value, definitions)
        for key, value in node.items()
        if key not in dropped
    }

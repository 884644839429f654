"""One judge request: what is sent, and the hash of all that can change its answer."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evals.judging.isolation import Guard
from evals.judging.prompts import Prompt
from evals.records import ReasoningMode


@dataclass(frozen=True)
class JudgeSettings:
    """What is the same for every request of a run (1.5)."""

    model: str
    """The pinned model id."""
    reasoning: ReasoningMode
    """One mode for the whole run, never toggled in between."""
    repeat: int = 0
    """Repeat index: another number asks the same question afresh."""


@dataclass(frozen=True)
class JudgeRequest:
    """One call. Two requests with the same hash have the same answer."""

    purpose: str
    """``premise.pass_1``: for counts and messages; not part of the hash."""
    settings: JudgeSettings
    prompt: Prompt
    user: str
    """The rendered user text."""
    answer_schema: dict[str, Any]
    """JSON schema of the answer."""
    max_tokens: int
    guard: Guard | None = field(default=None, compare=False)
    """Set on blind requests: checked on the payload just before it is looked up or sent (1.1)."""

    @cached_property
    def params(self) -> dict[str, Any]:
        """The Messages API body; also the ``params`` of one request of a Message Batch."""
        thinking = "adaptive" if self.settings.reasoning == "adaptive" else "disabled"
        return {
            "model": self.settings.model,
            "max_tokens": self.max_tokens,
            "system": [
                {
                    "type": "text",
                    "text": self.prompt.system,
                    "cache_control": {"type": "ephemeral"},
                }
            ],
            "messages": [{"role": "user", "content": self.user}],
            "output_config": {"format": {"type": "json_schema", "schema": self.answer_schema}},
            "thinking": {"type": thinking},
        }

    @cached_property
    def body(self) -> bytes:
        """``params`` as canonical JSON: encoded once, for the hash and for sending."""
        return _canonical(self.params)

    @cached_property
    def request_hash(self) -> str:
        """sha256 of the body and the repeat index: 64 hex digits, a valid batch ``custom_id``."""
        return _hash_of(self.body, self.settings.repeat)


def request_hash_of(params: dict[str, Any], repeat: int) -> str:
    """Return the hash that binds an answer to a Messages API body (design section 5).

    Covers model, prompt text, rendered input, schema, token limit, reasoning and repeat index.
    """
    return _hash_of(_canonical(params), repeat)


def _canonical(params: dict[str, Any]) -> bytes:
    return json.dumps(params, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def _hash_of(body: bytes, repeat: int) -> str:
    # The JSON array of both.
    return hashlib.sha256(b"[%b,%d]" % (body, repeat)).hexdigest()

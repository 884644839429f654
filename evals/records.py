"""The frozen records that the layers hand to one another. Plain data; no behaviour beyond hashing.

A field that a source lacks is ``None``, never invented (design section 3).
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from evals.errors import JudgeError, UnjudgedReason

DatasetShape = Literal["benchmark", "production"]
AnswerSource = Literal["live", "batch", "store", "recording"]
ReasoningMode = Literal["off", "adaptive"]


class Record(BaseModel):
    """Base of every record: frozen, and closed to keys that it does not name."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(Record):
    """One chat message as the deriver saw it."""

    message_id: str
    """Unique in its window."""
    peer_id: str
    """Who sent it."""
    text: str
    sent_at: datetime | None
    """Aware where the source states a zone, naive where it does not; None where it has no time."""

    def stamp(self) -> str | None:
        """Return the time as a prompt and a page show it, or None.

        ``2026-06-04 11:58:02 UTC`` for an aware time, ``2023-05-08 13:56:00`` for a naive one.
        """
        if self.sent_at is None:
            return None
        zone = self.sent_at.tzname()
        plain = self.sent_at.strftime("%Y-%m-%d %H:%M:%S")
        return f"{plain} {zone}" if zone else plain


class Conclusion(Record):
    """One statement that a deriver minted from a window, with what is known of its making (4.1)."""

    conclusion_id: str
    """Stable: ``conclusion_id_of(window_id, ordinal, text)``."""
    ordinal: int
    """Position in its window, from 0."""
    peer_id: str
    """Whom the conclusion is about."""
    text: str
    deriver_prompt_hash: str | None
    deriver_model_id: str | None
    derived_at: datetime | None


class Window(Record):
    """The exact messages that a deriver saw at one invocation, and what it minted (4.1)."""

    window_id: str
    """Unique in its trace."""
    conversation_id: str | None
    peer_id: str | None
    """The peer the deriver ran for; None where the conclusions are about several peers."""
    messages: tuple[Message, ...]
    window_text_hash: str
    """``window_text_hash_of(messages)``."""
    window_reconstructed: bool
    """True where the window was rebuilt from batching and not logged at derivation time."""
    dataset_shape: DatasetShape
    earlier_messages: tuple[Message, ...] | None
    """The conversation before the window; None where the trace does not carry it."""
    conclusions: tuple[Conclusion, ...]


def conclusion_id_of(window_id: str, ordinal: int, text: str) -> str:
    """Return the stable id of a conclusion: 16 hex digits."""
    return _sha256([window_id, ordinal, text])[:16]


def window_text_hash_of(messages: Sequence[Message]) -> str:
    """Return the hash of who said what when: 64 hex digits, independent of message ids."""
    return _sha256(
        [
            [m.peer_id, m.text, None if m.sent_at is None else m.sent_at.isoformat()]
            for m in messages
        ]
    )


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()


class Unjudged(Record):
    """Stands where a verdict or a score would: never a pass, a fail, or a number."""

    reason: UnjudgedReason
    detail: str

    @classmethod
    def of(cls, error: JudgeError) -> "Unjudged":
        """Return the record of a call that gave no usable answer."""
        return cls(reason=error.reason, detail=str(error))


class Call(Record):
    """One judge answer that a row rests on."""

    purpose: str
    """Which prompt: ``premise.pass_1``."""
    request_hash: str
    prompt_hash: str
    source: AnswerSource
    model_asked: str
    model_served: str
    input_tokens: int | None
    """Tokens read in full; None where the answer's origin does not say."""
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    attempts: int
    """HTTP attempts that this run made for it; 0 where it came from store or recording."""


class Provenance(Record):
    """What produced a row (4.2). No field has a default: a row without it cannot be built."""

    run_id: str
    bench_version: str
    judge_model_id: str
    """The model asked for: the pin of the run (1.5). What answered stands in each ``Call``."""
    judge_prompt_hashes: dict[str, str]
    """Prompt name -> hash, of every prompt that the row's instrument uses."""
    reasoning_enabled: bool
    judge_repeat: int
    """Repeat index of every request behind the row, from 0."""
    dataset_shape: DatasetShape
    git_commit: str | None
    git_dirty: bool | None
    """None outside a git checkout."""
    window_id: str
    window_text_hash: str
    window_message_ids: tuple[str, ...]
    message_timestamps: tuple[datetime | None, ...]
    window_reconstructed: bool
    peer_id: str | None
    deriver_prompt_hash: str | None
    deriver_model_id: str | None
    derived_at: datetime | None

"""Importer of Honcho reasoning traces: one model call a line (design section 8)."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from evals.errors import TraceError
from evals.records import Window, window_text_hash_of
from evals.traces.fields import FilledText, Text, misfit, shown_value
from evals.traces.honcho_prompt import read_prompt, split_messages
from evals.traces.strict_json import JsonLine, parse_json, read_json_lines
from evals.traces.trace import Imported, SkippedRecord, TraceFormat, conclusions_of
from evals.untrusted import for_id, for_terminal

_DERIVER_TASK = "minimal_deriver"
_CUT_OFF = frozenset(["length", "max_tokens"])
_TODO = "Repair the record, or check that a deriver of Honcho wrote it."


class _Foreign(BaseModel):
    """Honcho's own objects: strict in what is read, open to keys that are not."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _Block(_Foreign):
    text: Text | None = None


def _as_blocks(content: object) -> object:
    return [{"text": content}] if isinstance(content, str) else content


class _ChatMessage(_Foreign):
    role: Text
    content: Annotated[list[_Block] | None, BeforeValidator(_as_blocks)]

    def plain(self) -> str:
        return "".join(block.text or "" for block in self.content or ())


class _Input(_Foreign):
    prompt: Text | None = None
    messages: list[_ChatMessage] | None = None

    def parts(self) -> list[tuple[str, str]]:
        if self.prompt is not None:
            return [("user", self.prompt)]
        return [(message.role, message.plain()) for message in self.messages or ()]


class _Output(_Foreign):
    content: Any
    finish_reasons: list[str] | None = None

    def is_cut_off(self) -> bool:
        # Some providers' names come as FinishReason.MAX_TOKENS.
        reasons = self.finish_reasons or ()
        return any(reason.lower().rpartition(".")[2] in _CUT_OFF for reason in reasons)


class _Call(_Foreign):
    timestamp: float
    model: FilledText
    input: _Input
    output: _Output


class _Explicit(_Foreign):
    content: FilledText


class _Answer(BaseModel):
    """The deriver's answer. Closed: a list of another name would hold conclusions too."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    explicit: list[_Explicit] | None


def read_honcho(path: Path) -> Iterator[Imported]:
    """Yield one outcome a line: a window for each call of the deriver.

    A call of another task is skipped as ``other_call``. An answer that was cut off and cannot be
    read is skipped as ``truncated``: the window is there, but nobody knows what was minted from it.
    An answer that was cut off and reads all the same is taken as it stands, since it is what Honcho
    kept.

    Raises:
        OSError: the file cannot be read.
    """
    for line in read_json_lines(path):
        try:
            yield Imported(line.where, _outcome_of(line))
        except TraceError as error:
            yield Imported(line.where, error)


def _outcome_of(line: JsonLine) -> Window | SkippedRecord:
    record, where = line.value, line.where
    if isinstance(record, TraceError):
        raise record
    if not _recognises(record):
        raise TraceError(
            where,
            f"an object with the keys {for_terminal(', '.join(record), 120) or '(none)'}",
            "a model call with input, output and model",
            "Take out what is no line of a Honcho reasoning trace.",
        )
    task = record.get("task_type")
    if task is not None and not isinstance(task, str):
        raise TraceError(f"{where} at $.task_type", shown_value(task), "text or null", _TODO)
    if task != _DERIVER_TASK:
        why = f"task_type is {shown_value(task)}; conclusions come from {_DERIVER_TASK!r} calls"
        return SkippedRecord(where=where, kind="other_call", why=why)
    try:
        call = _Call.model_validate(record)
    except ValidationError as error:
        raise misfit(error, where, _TODO) from error
    texts = _conclusion_texts(call.output, where)
    window = _window_of(call, texts or (), line)
    if texts is None:
        why = "the deriver's answer hit its token limit and is not whole JSON"
        return SkippedRecord(where=where, kind="truncated", why=why)
    return window


def _window_of(call: _Call, texts: Sequence[str], line: JsonLine) -> Window:
    where = line.where
    derived_at = _time_of(call.timestamp, where)
    parts = call.input.parts()
    prompt = read_prompt(parts, where)
    messages = split_messages(
        prompt.window_text, target_peer=prompt.peer_id, derived_at=derived_at, where=where
    )
    # The line number keeps repeats of one call apart; the hash, equal lines of several files.
    seed = f"{parts!r} {call.timestamp!r}"
    digest = hashlib.sha256(seed.encode()).hexdigest()[:8]
    window_id = f"w{line.number:04d}-{for_id(prompt.peer_id)}-{digest}"
    return Window(
        window_id=window_id,
        conversation_id=None,
        peer_id=prompt.peer_id,
        messages=messages,
        window_text_hash=window_text_hash_of(messages),
        window_reconstructed=False,
        dataset_shape="production",
        earlier_messages=None,
        conclusions=conclusions_of(
            window_id,
            ((prompt.peer_id, text) for text in texts),
            deriver_prompt_hash=prompt.prompt_hash,
            deriver_model_id=call.model,
            derived_at=derived_at,
        ),
    )


def _time_of(timestamp: float, where: str) -> datetime:
    try:
        return datetime.fromtimestamp(timestamp, tz=UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise TraceError(
            f"{where} at $.timestamp",
            for_terminal(repr(timestamp), 40),
            "seconds since 1970, up to the year 9999",
            "Correct the time (milliseconds, perhaps?).",
        ) from error


def _conclusion_texts(output: _Output, where: str) -> list[str] | None:
    """Return what was minted; None where the answer was cut off and cannot say."""
    content = output.content
    if isinstance(content, str):
        try:
            content = parse_json(content)
        except ValueError as error:
            if output.is_cut_off():
                return None
            raise TraceError(
                f"{where} at $.output.content",
                f"{shown_value(content)} ({for_terminal(str(error))})",
                "a JSON object, or text that is one",
                _TODO,
            ) from error
    if content is None and output.is_cut_off():
        return None
    try:
        answer = _Answer.model_validate(content)
    except ValidationError as error:
        raise misfit(error, where, _TODO, root=("output", "content")) from error
    texts = [item.content for item in answer.explicit or ()]
    return None if not texts and output.is_cut_off() else texts


def _recognises(value: Any) -> bool:
    return isinstance(value, dict) and {"input", "output", "model"} <= value.keys()


HONCHO = TraceFormat(
    name="honcho",
    looks_like="a Honcho reasoning trace: one model call a line, with input, output and model",
    recognises=_recognises,
    read=read_honcho,
)

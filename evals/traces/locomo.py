"""Importer of LoCoMo conversations (snap-research/locomo), in both published shapes.

The observation list of a session holds what a language model concluded from that session about each
speaker: real conclusions, whose window is the session. That the model saw the session and nothing
else is how the set was made, not logged: the windows count as reconstructed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from dateutil import parser as date_parser
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from evals.errors import TraceError
from evals.records import Message, Window, window_text_hash_of
from evals.traces.fields import FilledText, Text, json_path, misfit, shown_value
from evals.traces.strict_json import read_json_document
from evals.traces.trace import Imported, SkippedRecord, TraceFormat, conclusions_of, shown_path
from evals.untrusted import for_id

_SESSION = re.compile(r"session_([0-9]{1,9})")
_OBSERVATION = re.compile(r"session_([0-9]{1,9})_observation")
_TODO = "Restore the file as LoCoMo publishes it."
_TWO_DEFAULTS = (datetime(2000, 1, 1), datetime(2001, 2, 2, 2, 2))  # noqa: DTZ001  LoCoMo: no zone


class _Turn(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    speaker: FilledText
    dia_id: FilledText
    text: Text
    blip_caption: Text | None = None

    def plain(self) -> str:
        image = f"[image: {self.blip_caption}]" if self.blip_caption else ""
        return " ".join(part for part in (self.text, image) if part)


def _as_pair(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _as_ids(value: object) -> object:
    return [value] if isinstance(value, str) else value


_Statement = Annotated[
    tuple[FilledText, Annotated[list[str], BeforeValidator(_as_ids)]], BeforeValidator(_as_pair)
]
"""What was concluded, and the turns it came from."""
_TURNS = TypeAdapter(list[_Turn], config=ConfigDict(strict=True))
_OBSERVATIONS = TypeAdapter(dict[FilledText, list[_Statement]], config=ConfigDict(strict=True))


@dataclass(frozen=True)
class _Conversation:
    """Both shapes, brought to one."""

    file: str
    conversation_id: str
    sessions: Mapping[str, Any]
    """``session_N``, ``session_N_date_time``; other keys are none of ours."""
    sessions_root: tuple[str | int, ...]
    """Where in the file they stand."""
    observations: Mapping[str, Any]
    observations_root: tuple[str | int, ...]


def read_locomo(path: Path) -> Iterator[Imported]:
    """Yield one outcome a session, conversation by conversation.

    Times are naive, for LoCoMo states no zone; all messages of a session carry the session's.
    ``earlier_messages`` are those of all sessions before; None once one of them could not be read.

    Raises:
        OSError: the file cannot be read.
    """
    file = shown_path(path)
    try:
        document = read_json_document(path)
    except TraceError as error:
        yield Imported(file, error)
        return
    if not isinstance(document, list):
        yield from _imported(file, (), document, path.stem)
        return
    for index, sample in enumerate(document):
        yield from _imported(file, (index,), sample, None)


def _imported(
    file: str, root: tuple[str | int, ...], value: Any, name: str | None
) -> Iterator[Imported]:
    try:
        conversation = _conversation_of(file, root, value, name)
    except TraceError as error:
        yield Imported(f"{file} at {json_path(root)}", error)
        return
    yield from _sessions_of(conversation)


def _conversation_of(
    file: str, root: tuple[str | int, ...], value: Any, name: str | None
) -> _Conversation:
    where = f"{file} at {json_path(root)}"
    if not isinstance(value, dict):
        raise TraceError(where, shown_value(value), "an object, one conversation", _TODO)
    given = value.get("sample_id")
    sample_id = name if given is None else given
    if not isinstance(sample_id, str) or not sample_id.strip():
        raise TraceError(where, f"sample_id {shown_value(sample_id)}", "text", _TODO)
    if "conversation" not in value:
        return _Conversation(file, sample_id, value, root, value, root)
    sessions = value["conversation"]
    observations = value.get("observation")
    if not isinstance(sessions, dict) or not isinstance(observations, dict | None):
        raise TraceError(
            where,
            f"conversation: {shown_value(sessions)}, observation: {shown_value(observations)}",
            "an object each",
            _TODO,
        )
    return _Conversation(
        file,
        sample_id,
        sessions,
        (*root, "conversation"),
        observations or {},
        (*root, "observation"),
    )


def _sessions_of(conversation: _Conversation) -> Iterator[Imported]:
    earlier: tuple[Message, ...] | None = ()
    for number in _session_numbers(conversation):
        where = f"{conversation.file} at {json_path((*conversation.sessions_root, _key(number)))}"
        try:
            messages = _messages_of(conversation, number)
        except TraceError as error:
            earlier = None
            yield Imported(where, error)
            continue
        try:
            yield Imported(where, _outcome_of(conversation, number, messages, earlier, where))
        except TraceError as error:
            yield Imported(where, error)
        earlier = None if earlier is None else earlier + messages


def _session_numbers(conversation: _Conversation) -> list[int]:
    # There are dates without a session: they say nothing and are no records.
    sessions = (_SESSION.fullmatch(key) for key in conversation.sessions)
    observations = (_OBSERVATION.fullmatch(key) for key in conversation.observations)
    return sorted({int(found[1]) for found in (*sessions, *observations) if found})


def _key(number: int) -> str:
    return f"session_{number}"


def _messages_of(conversation: _Conversation, number: int) -> tuple[Message, ...]:
    key = _key(number)
    root = (*conversation.sessions_root, key)
    where = f"{conversation.file} at {json_path(root)}"
    if key not in conversation.sessions:
        raise TraceError(where, "observations but no such session", "its turns", _TODO)
    try:
        turns = _TURNS.validate_python(conversation.sessions[key])
    except ValidationError as error:
        raise misfit(error, conversation.file, _TODO, root=root) from error
    ids = [turn.dia_id for turn in turns]
    if len(set(ids)) != len(ids):
        raise TraceError(where, "a dia_id that occurs twice", "one id a turn", _TODO)
    sent_at = _date_of(conversation, f"{key}_date_time")
    return tuple(
        Message(message_id=turn.dia_id, peer_id=turn.speaker, text=turn.plain(), sent_at=sent_at)
        for turn in turns
    )


def _date_of(conversation: _Conversation, key: str) -> datetime | None:
    value = conversation.sessions.get(key)
    if value is None or value == "":
        return None
    where = f"{conversation.file} at {json_path((*conversation.sessions_root, key))}"
    wanted = "a date with its time, such as '1:56 pm on 8 May, 2023'"
    if not isinstance(value, str):
        raise TraceError(where, shown_value(value), wanted, _TODO)
    try:
        # dateutil fills what a text leaves open from a default; two of them show if it did.
        one, other = (
            date_parser.parse(value, default=default, ignoretz=True) for default in _TWO_DEFAULTS
        )
    except (ValueError, OverflowError) as error:
        raise TraceError(where, shown_value(value), wanted, _TODO) from error
    if one != other:
        raise TraceError(where, f"{shown_value(value)}, in part", wanted, _TODO)
    return one


def _outcome_of(
    conversation: _Conversation,
    number: int,
    messages: tuple[Message, ...],
    earlier: tuple[Message, ...] | None,
    where: str,
) -> Window | SkippedRecord:
    key = f"{_key(number)}_observation"
    if key not in conversation.observations:
        why = "the session has no observation list"
        return SkippedRecord(where=where, kind="no_conclusions", why=why)
    try:
        observations = _OBSERVATIONS.validate_python(conversation.observations[key])
    except ValidationError as error:
        root = (*conversation.observations_root, key)
        raise misfit(error, conversation.file, _TODO, root=root) from error
    if not messages:
        raise TraceError(where, "observations on a session without turns", "its turns", _TODO)
    window_id = f"locomo-{_slug_of(conversation.conversation_id)}-s{number:02d}"
    return Window(
        window_id=window_id,
        conversation_id=conversation.conversation_id,
        peer_id=None,
        messages=messages,
        window_text_hash=window_text_hash_of(messages),
        window_reconstructed=True,
        dataset_shape="benchmark",
        earlier_messages=earlier,
        conclusions=conclusions_of(
            window_id,
            (
                (speaker, statement)
                for speaker, statements in observations.items()
                for statement, _ in statements
            ),
        ),
    )


def _slug_of(conversation_id: str) -> str:
    # What a slug leaves out can be all that tells two conversations apart (会话一, 会话二).
    slug = for_id(conversation_id)
    if slug == conversation_id:
        return slug
    encoded = conversation_id.encode("utf-8", "surrogatepass")
    return f"{slug}-{sha256(encoded).hexdigest()[:8]}"


def _recognises(value: Any) -> bool:
    if isinstance(value, list):
        value = value[0] if value else None
        return isinstance(value, dict) and isinstance(value.get("conversation"), dict)
    return isinstance(value, dict) and any(
        _SESSION.fullmatch(key) and isinstance(item, list) for key, item in value.items()
    )


LOCOMO = TraceFormat(
    name="locomo",
    looks_like="a LoCoMo conversation (session_1, session_1_observation, …), or a list of them",
    recognises=_recognises,
    read=read_locomo,
)

"""The window log: what a deriver saw and minted, written down as it happens (4.1).

All that a deriver needs::

    log = WindowLog("windows.jsonl")
    seen = [{"message_id": m.id, "peer_id": m.peer, "text": m.text, "sent_at": m.at} for m in batch]
    log.write(peer_id=peer, messages=seen, conclusions=texts, deriver_prompt=PROMPT_TEMPLATE,
              deriver_model_id="small-1", derived_at=datetime.now(UTC))
"""

import hashlib
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import portalocker
from pydantic import ConfigDict, TypeAdapter, ValidationError

from evals.errors import TraceError
from evals.files import OWNER_ONLY
from evals.records import DatasetShape, window_text_hash_of
from evals.traces.fields import misfit
from evals.traces.trace import shown_path
from evals.traces.window_line import FORMAT, VERSION, MessageLine, WindowLine
from evals.untrusted import for_id, for_terminal

_WHERE = "WindowLog.write"
_TODO = "Correct the call; nothing was written."
_MESSAGES = TypeAdapter(list[MessageLine], config=ConfigDict(strict=True))


class WindowLog:
    """Appends one line per deriver invocation; several processes may share the file.

    The file is opened for each line, so it may be rotated at any time. Messages are private: it is
    made readable for its owner alone.
    """

    def __init__(self, path: Path | str) -> None:
        """Name the file; its folder must exist, the file need not."""
        self._path = Path(path)

    def write(
        self,
        *,
        peer_id: str,
        messages: Sequence[Mapping[str, object]],
        conclusions: Sequence[str | Mapping[str, object]],
        deriver_model_id: str,
        derived_at: datetime | str,
        deriver_prompt: str | None = None,
        deriver_prompt_hash: str | None = None,
        conversation_id: str | None = None,
        dataset_shape: DatasetShape = "production",
        window_id: str | None = None,
        earlier_messages: Sequence[Mapping[str, object]] | None = None,
    ) -> str:
        """Append the window of one invocation: exact, in the order that the deriver saw it.

        Args:
            peer_id: the peer that the deriver ran for.
            messages: at least one, each with ``message_id``, ``peer_id``, ``text``, ``sent_at``
                (a ``datetime``, ISO 8601 text, or None where there is no time).
            conclusions: texts about ``peer_id``, or ``{"peer_id": …, "text": …}``; may be none.
            deriver_model_id: the model that answered.
            derived_at: when; a ``datetime`` or ISO 8601 text.
            deriver_prompt: the prompt without peer id and messages, so that its hash stays the same
                from window to window. This or the next, not both.
            deriver_prompt_hash: the hash of it.
            conversation_id: the conversation that the messages are of.
            dataset_shape: ``production`` or ``benchmark``.
            window_id: unique in the trace; made up where it is not given.
            earlier_messages: the conversation before the window; None where it is not to be logged.

        Returns:
            The window id.

        Raises:
            TraceError: an argument does not fit, or the file cannot be written. Nothing was
                written then.
        """
        if (deriver_prompt is None) == (deriver_prompt_hash is None):
            given = "neither" if deriver_prompt is None else "both"
            raise TraceError(_WHERE, given, "deriver_prompt or deriver_prompt_hash", _TODO)
        prompt_hash = deriver_prompt_hash if deriver_prompt is None else _hash_of(deriver_prompt)
        seen = _lines_of("messages", messages)
        earlier = (
            None if earlier_messages is None else _lines_of("earlier_messages", earlier_messages)
        )
        chosen_id = (
            f"w-{for_id(peer_id)}-{uuid.uuid4().hex[:12]}" if window_id is None else window_id
        )
        line = WindowLine.of(
            {
                "format": FORMAT,
                "version": VERSION,
                "window_id": chosen_id,
                "conversation_id": conversation_id,
                "peer_id": peer_id,
                "deriver_prompt_hash": prompt_hash,
                "deriver_model_id": deriver_model_id,
                "derived_at": derived_at,
                "window_message_ids": [message.message_id for message in seen],
                "message_timestamps": [message.sent_at for message in seen],
                "window_text_hash": window_text_hash_of([message.message() for message in seen]),
                "window_reconstructed": False,
                "dataset_shape": dataset_shape,
                "messages": seen,
                "earlier_messages": earlier,
                "conclusions": [
                    {"peer_id": peer_id, "text": item} if isinstance(item, str) else item
                    for item in conclusions
                ],
            },
            _WHERE,
            _TODO,
        )
        text = json.dumps(line.model_dump(mode="json"), ensure_ascii=False)
        self._append(f"{text}\n".encode())
        return chosen_id

    def _append(self, line: bytes) -> None:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, OWNER_ONLY)
            try:
                # The promise that short writes stay whole is made for pipes, not for files. The
                # lock is on the log itself and ends with the process: none is ever left behind.
                portalocker.lock(file, portalocker.LOCK_EX)
                _append_whole(file, line)
            finally:
                os.close(file)
        except (OSError, portalocker.LockException) as error:
            raise TraceError(
                shown_path(self._path),
                for_terminal(str(error)),
                "a file that can be locked and appended to",
                "Make its folder, free some space, or choose another place; nothing was written.",
            ) from error


def _append_whole(file: int, line: bytes) -> None:
    size = os.lseek(file, 0, os.SEEK_END)
    if size > 0:
        os.lseek(file, size - 1, os.SEEK_SET)
        if os.read(file, 1) != b"\n":  # a writer died in mid-line: its line stays a bad one alone
            line = b"\n" + line
    left = memoryview(line)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def _lines_of(name: str, messages: Sequence[Mapping[str, object]]) -> list[MessageLine]:
    try:
        return _MESSAGES.validate_python(list(messages))
    except ValidationError as error:
        raise misfit(error, _WHERE, _TODO, root=(name,)) from error


def _hash_of(prompt: str) -> str:
    try:
        return hashlib.sha256(prompt.encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise TraceError(
            f"{_WHERE} at $.deriver_prompt", "half of a surrogate pair", "whole characters", _TODO
        ) from error

"""The project's own trace format: one line a window, all that 4.1 asks for, version 1.

The window log writes it and the ``jsonl`` importer reads it. Every key is there; what is not known
is null.
"""

from functools import cached_property
from typing import Literal, Self

from pydantic import ConfigDict, ValidationError

from evals.errors import TraceError
from evals.records import DatasetShape, Message, Record, Window, window_text_hash_of
from evals.traces.fields import FilledText, Moment, Text, misfit
from evals.traces.trace import conclusions_of

FORMAT = "conclusion-window"
VERSION = 1


class _Strict(Record):
    model_config = ConfigDict(strict=True)


class MessageLine(_Strict):
    """One message."""

    message_id: FilledText
    peer_id: FilledText
    text: Text
    sent_at: Moment | None

    def message(self) -> Message:
        """Return it as the record it stands for."""
        return Message(
            message_id=self.message_id, peer_id=self.peer_id, text=self.text, sent_at=self.sent_at
        )


class ConclusionLine(_Strict):
    """One conclusion."""

    peer_id: FilledText
    """Whom it is about."""
    text: FilledText


class WindowLine(_Strict):
    """One line: a window, as it was when the deriver ran."""

    format: Literal["conclusion-window"]
    version: Literal[1]
    window_id: FilledText
    conversation_id: FilledText | None
    peer_id: FilledText | None
    deriver_prompt_hash: FilledText | None
    deriver_model_id: FilledText | None
    derived_at: Moment | None
    window_message_ids: list[FilledText]
    message_timestamps: list[Moment | None]
    window_text_hash: str
    window_reconstructed: bool
    dataset_shape: DatasetShape
    messages: list[MessageLine]
    earlier_messages: list[MessageLine] | None
    conclusions: list[ConclusionLine]

    @cached_property
    def seen(self) -> tuple[Message, ...]:
        """The window's messages as the records they stand for."""
        return tuple(line.message() for line in self.messages)

    @classmethod
    def of(cls, value: object, where: str, todo: str) -> Self:
        """Return ``value`` as a line that holds together.

        Raises:
            TraceError: a key is missing, unknown or of another kind, or two of them disagree.
        """
        try:
            line = cls.model_validate(value)
        except ValidationError as error:
            raise misfit(error, where, todo) from error
        line.check(where, todo)
        return line

    def check(self, where: str, todo: str) -> None:
        """Check that the line's parts agree.

        Raises:
            TraceError: they do not.
        """
        messages = self.seen
        ids = [message.message_id for message in messages]
        if not messages:
            raise TraceError(f"{where} at $.messages", "no message", "at least one", todo)
        if len(set(ids)) != len(ids):
            raise TraceError(f"{where} at $.messages", "a message_id twice", "one a message", todo)
        agreeing = {
            "window_message_ids": self.window_message_ids == ids,
            "message_timestamps": self.message_timestamps == [line.sent_at for line in messages],
            "window_text_hash": self.window_text_hash == window_text_hash_of(messages),
        }
        for key, agrees in agreeing.items():
            if not agrees:
                raise TraceError(
                    f"{where} at $.{key}", "other values than in $.messages", "the same", todo
                )

    def window(self) -> Window:
        """Return the window that the line stands for."""
        earlier = self.earlier_messages
        return Window(
            window_id=self.window_id,
            conversation_id=self.conversation_id,
            peer_id=self.peer_id,
            messages=self.seen,
            window_text_hash=self.window_text_hash,
            window_reconstructed=self.window_reconstructed,
            dataset_shape=self.dataset_shape,
            earlier_messages=None if earlier is None else tuple(line.message() for line in earlier),
            conclusions=conclusions_of(
                self.window_id,
                ((line.peer_id, line.text) for line in self.conclusions),
                deriver_prompt_hash=self.deriver_prompt_hash,
                deriver_model_id=self.deriver_model_id,
                derived_at=self.derived_at,
            ),
        )

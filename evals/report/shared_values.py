"""What the pages of cases and windows tell in the same way: calls, provenance, windows."""

import json
from collections.abc import Mapping, Sequence

from evals.errors import RunError
from evals.judging.case import Row
from evals.records import Call, Message, Unjudged, Window
from evals.report import numbers, reading


class TextTable:
    """Strings by number: a text that many rows share is stored once."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        """Start with ``known``, numbered from 0."""
        self.numbers = {text: number for number, text in enumerate(known)}

    def number(self, text: str) -> int:
        """Return the number of ``text``, a new one where it is new."""
        return self.numbers.setdefault(text, len(self.numbers))

    @property
    def texts(self) -> list[str]:
        """Every text, at the place of its number."""
        return list(self.numbers)


class SharedTexts:
    """Calls and provenance with what rows share by number, so that it is stored once."""

    def __init__(self) -> None:
        """Start empty."""
        self._models = TextTable()
        self._hashes = TextTable()
        self._runs: dict[str, int] = {}
        self._run_values: list[list[list[str]]] = []

    @property
    def values(self) -> dict[str, object]:
        """Model ids, prompt hashes and provenance, by number."""
        return {
            "models": self._models.texts,
            "hashes": self._hashes.texts,
            "provenance": self._run_values,
        }

    def call(self, call: Call) -> list[object]:
        """Return one judge answer as a line of its table."""
        return [
            call.purpose,
            call.source,
            self._models.number(call.model_served),
            self._models.number(call.model_asked),
            self._hashes.number(call.prompt_hash),
            call.request_hash,
            _tokens(call),
            call.attempts,
        ]

    def provenance(self, row: Row) -> int:
        """Return the number of a row's provenance (4.2)."""
        origin = row.provenance
        values = [
            ["Judge model", origin.judge_model_id],
            ["Reasoning", "on" if origin.reasoning_enabled else "off"],
            ["Judge repeat", numbers.count(origin.judge_repeat)],
            ["Bench version", origin.bench_version],
            ["Run", origin.run_id],
            ["Dataset shape", origin.dataset_shape],
            ["Commit", reading.commit_text(origin.git_commit, dirty=origin.git_dirty)],
            *([f"Prompt {name}", text] for name, text in origin.judge_prompt_hashes.items()),
        ]
        key = json.dumps(values)
        if key not in self._runs:
            self._runs[key] = len(self._run_values)
            self._run_values.append(values)
        return self._runs[key]


def unjudged_values(unjudged: Unjudged) -> list[str]:
    """Return reason and detail."""
    return [unjudged.reason, unjudged.detail]


def deriver_values(row: Row) -> list[str]:
    """Return model, prompt hash and time of what made the conclusions (4.1)."""
    origin = row.provenance
    return [
        origin.deriver_model_id or numbers.NOTHING,
        origin.deriver_prompt_hash or numbers.NOTHING,
        numbers.moment(origin.derived_at),
    ]


def _tokens(call: Call) -> str:
    if call.input_tokens is None or call.output_tokens is None:
        return numbers.NOTHING
    return f"{numbers.count(call.input_tokens)} in, {numbers.count(call.output_tokens)} out"


def window_of(window_id: str, windows: Mapping[str, Window]) -> Window:
    """Return a row's window.

    Raises:
        RunError: there is no such window.
    """
    if window_id not in windows:
        raise RunError(
            f"window {window_id}",
            "a row that names it, and no such window",
            "every row's window beside the rows",
            "Add the window to the run record before its rows.",
        )
    return windows[window_id]


def window_values(window: Window) -> dict[str, object]:
    """Return a window's messages and what is known of it; earlier messages only as a count."""
    earlier = window.earlier_messages
    return {
        "id": window.window_id,
        "conversation": window.conversation_id,
        "peer": window.peer_id,
        "hash": window.window_text_hash,
        "reconstructed": window.window_reconstructed,
        "shape": window.dataset_shape,
        "earlier": None if earlier is None else numbers.counted(len(earlier), "earlier message"),
        "messages": [_message_values(message) for message in window.messages],
    }


def _message_values(message: Message) -> list[str | None]:
    return [message.message_id, message.peer_id, message.stamp(), message.text]

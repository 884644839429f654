"""Everything that ``cases.html`` shows of one case or one window, as plain JSON values.

A field that is null in a row is absent here, so that the page can tell "not judged" from "none".
"""

import json
from collections.abc import Mapping, Sequence

from evals.errors import RunError
from evals.premise.row import ConclusionRow
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


class CaseDetails:
    """Makes each row's line; what rows share goes into ``shared``, once."""

    def __init__(self, window_positions: Mapping[str, int]) -> None:
        """Take window id -> line of that window on the page."""
        self._window_positions = window_positions
        self._models = TextTable()
        self._hashes = TextTable()
        self._runs: dict[str, int] = {}
        self._run_values: list[list[list[str]]] = []

    @property
    def shared(self) -> dict[str, object]:
        """Model ids, prompt hashes and provenance, by number."""
        return {
            "models": self._models.texts,
            "hashes": self._hashes.texts,
            "provenance": self._run_values,
        }

    def of(self, row: ConclusionRow) -> dict[str, object]:
        """Return everything about a row that the index does not hold; absent where it is null."""
        values: dict[str, object] = {
            "window": self._window_positions[row.provenance.window_id],
            "words": row.token_count,
            "calls": [self._call(call) for call in row.calls],
            "provenance": self._provenance(row),
            "deriver": _deriver(row),
        }
        values.update(_pass_1(row) | _pass_2(row) | _minimality(row))
        for key, unjudged in (
            ("unjudged", row.unjudged),
            ("minimality_unjudged", row.minimality_unjudged),
            ("attribution_unjudged", row.attribution_unjudged),
        ):
            if unjudged is not None:
                values[key] = _unjudged(unjudged)
        return values

    def _call(self, call: Call) -> list[object]:
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

    def _provenance(self, row: ConclusionRow) -> int:
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


def _pass_1(row: ConclusionRow) -> dict[str, object]:
    if row.pass_1 is None:
        return {}
    return {
        "reconstruction": row.pass_1.reconstruction,
        "slots": [[slot.slot, slot.why] for slot in row.pass_1.unknown_slots],
        "inference": row.pass_1.licensed_inference,
        "force": row.pass_1.force,
        "bundled": row.pass_1.bundled,
        "labels_1": row.pass_1.labels,
    }


def _pass_2(row: ConclusionRow) -> dict[str, object]:
    if row.pass_2 is None:
        return {}
    return {
        "license": row.pass_2.license_check,
        "interpretation": row.pass_2.interpretation,
        "unsupported": [[item.element, item.kind, item.why] for item in
                        row.pass_2.unsupported_elements],
        "force_preserved": row.pass_2.force_preserved,
        "missing": [[item.slot, item.attribution, item.evidence] for item in row.missing],
        "scope": row.attribution_scope,
        "labels_2": row.pass_2.labels,
    }  # fmt: skip


def _minimality(row: ConclusionRow) -> dict[str, object]:
    if row.minimality is None:
        return {}
    return {
        "minimality": numbers.score(row.minimality.minimality),
        "claims": row.minimality.claims,
        "padding": row.minimality.padding,
    }


def _unjudged(unjudged: Unjudged) -> list[str]:
    return [unjudged.reason, unjudged.detail]


def _deriver(row: ConclusionRow) -> list[str]:
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

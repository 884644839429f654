"""Shipped recordings: a read-only layer of answers under the store.

A folder of ``*.jsonl`` files whose lines have exactly the Message Batches result form::

    {"custom_id": "<request hash>", "result": {"type": "succeeded", "message": {…}}}

Opening reads every line's id and its place and nothing else; a message is read when it is asked
for. So ten thousand recordings open in tens of milliseconds.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.errors import StoreError
from evals.untrusted import for_terminal

_ID = re.compile(rb'\s*\{\s*"custom_id"\s*:\s*"([0-9A-Za-z_-]{1,64})"\s*,')


class SucceededResult(BaseModel):
    """A result that holds an answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["succeeded"]
    message: dict[str, Any]


class RecordedLine(BaseModel):
    """One line of a recordings file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    custom_id: str
    """The request's hash."""
    result: SucceededResult


@dataclass(frozen=True)
class _Place:
    path: Path
    line_number: int
    offset: int
    length: int


class Recordings:
    """The recordings of one folder, by request hash. No file stays open."""

    def __init__(self, folder: Path) -> None:
        """Index every ``*.jsonl`` in ``folder``; a folder that is not there holds none.

        Raises:
            StoreError: a line is no recording, or an id has two different answers.
        """
        self.folder = folder
        self._places: dict[str, _Place] = {}
        try:
            for path in sorted(folder.glob("*.jsonl")):
                self._index(path)
        except OSError as error:
            raise _unreadable(folder, error) from error

    def __len__(self) -> int:
        return len(self._places)

    def message_of(self, request_hash: str) -> str | None:
        """Return the recorded Message as JSON text, or None.

        Raises:
            StoreError: its line is not exactly a recording.
        """
        place = self._places.get(request_hash)
        if place is None:
            return None
        return json.dumps(self._read(request_hash, place).result.message, ensure_ascii=False)

    def hashes_starting_with(self, prefix: str) -> tuple[str, ...]:
        """Return the request hashes that start with ``prefix``, sorted."""
        return tuple(sorted(each for each in self._places if each.startswith(prefix)))

    def _index(self, path: Path) -> None:
        offset = 0
        with path.open("rb") as file:
            for line_number, line in enumerate(file, start=1):
                place = _Place(path, line_number, offset, len(line))
                offset += len(line)
                if line.strip():
                    self._add(line, place)

    def _add(self, line: bytes, place: _Place) -> None:
        found = _ID.match(line)
        custom_id = found[1].decode("ascii") if found else parse_line(line, _where(place)).custom_id
        earlier = self._places.setdefault(custom_id, place)
        if earlier is not place and self._read(custom_id, earlier) != self._read(custom_id, place):
            raise StoreError(
                _where(place),
                f"another answer to {custom_id} than at {_where(earlier)}",
                "one answer to a request",
                "Delete the line that is not wanted.",
            )

    def _read(self, custom_id: str, place: _Place) -> RecordedLine:
        try:
            with place.path.open("rb") as file:
                file.seek(place.offset)
                content = file.read(place.length)
        except OSError as error:
            raise _unreadable(place.path, error) from error
        line = parse_line(content, _where(place))
        if line.custom_id != custom_id:
            # Two keys of the same name (the index saw the first, the parser kept the last), or the
            # file was written anew under a running process.
            raise StoreError(
                _where(place),
                f"custom_id {for_terminal(line.custom_id)!r}",
                f"{custom_id!r}, which the line began with",
                "Run again; if it stays, import the answer again.",
            )
        return line


def parse_line(line: bytes, where: str) -> RecordedLine:
    """Read one line strictly.

    Raises:
        StoreError: it is not exactly a succeeded result.
    """
    try:
        return RecordedLine.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise StoreError(
            where,
            f"{for_terminal(line[:80].decode('utf-8', 'replace'))!r}"
            f" ({'.'.join(str(part) for part in first['loc'])}: {for_terminal(first['msg'])})",
            'a line {"custom_id": …, "result": {"type": "succeeded", "message": {…}}}',
            "Restore the file from git, or import the answers again.",
        ) from None


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(str(path), str(error), "readable recordings", "Restore them from git.")


def _where(place: _Place) -> str:
    return f"{place.path}:{place.line_number}"

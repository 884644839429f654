"""JSON as the importers read it: strict, streamed line by line, every fault named with its place.

Stricter than ``json`` alone: duplicate keys, NaN and infinities are faults, and no nesting depth
ends in a ``RecursionError``.
"""

import codecs
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evals.errors import TraceError
from evals.traces.trace import shown_path
from evals.untrusted import for_terminal


def parse_json(text: str) -> Any:
    """Return the JSON value that ``text`` is.

    Raises:
        ValueError: it is none, or not a strict one; the message says what is wrong where.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_object_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
        )
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise ValueError(f"{error.msg}: {line}column {error.colno}") from None
    except RecursionError:
        raise ValueError("arrays or objects nested too deeply to be read") from None


class JsonLine(NamedTuple):
    """One line of a file."""

    number: int
    """From 1."""
    where: str
    """``file:line``."""
    value: dict[str, Any] | TraceError
    """The object that the line is, or what is wrong with it."""


def read_json_lines(path: Path) -> Iterator[JsonLine]:
    r"""Yield every line of ``path`` that is not blank.

    Lines end at ``\n`` or ``\r\n`` and nowhere else: U+2028, U+2029 and NEL may stand unescaped
    inside a JSON string. A byte order mark at the start is no part of the text.

    Raises:
        OSError: the file cannot be read.
    """
    shown = shown_path(path)
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
            if line.strip():
                where = f"{shown}:{number}"
                yield JsonLine(number, where, _object_of(where, line))


def read_json_document(path: Path) -> Any:
    """Return the one JSON value that the whole of ``path`` is.

    Raises:
        TraceError: it is not strict JSON in UTF-8.
        OSError: the file cannot be read.
    """
    raw = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    where = shown_path(path)
    text = _decoded(where, raw)
    try:
        return parse_json(text)
    except ValueError as error:
        raise TraceError(
            where, for_terminal(str(error)), "one JSON document", "Restore the file."
        ) from error


def _object_of(where: str, line: bytes) -> dict[str, Any] | TraceError:
    try:
        text = _decoded(where, line).rstrip("\r\n")
    except TraceError as error:
        return error
    try:
        value = parse_json(text)
    except ValueError as error:
        cut = not line.endswith(b"\n")
        return TraceError(
            where,
            f"{for_terminal(text, 60)!r} ({for_terminal(str(error))})",
            "one JSON object, whole" if cut else "one JSON object",
            "The last line has no line end: it was cut off. Remove it, or write it again."
            if cut
            else "Repair the line.",
        )
    if not isinstance(value, dict):
        return TraceError(
            where,
            for_terminal(text, 60),
            "one JSON object",
            "Put each record on a line of its own.",
        )
    return value


def _decoded(where: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TraceError(
            where,
            f"byte 0x{raw[error.start]:02x} at offset {error.start} ({error.reason})",
            "UTF-8",
            "Write the file again as UTF-8.",
        ) from error


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {for_terminal(twice, 40)!r} twice in one object")
    return result


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name}, which is no JSON number")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {for_terminal(digits, 40)}, too large to be held")
    return number

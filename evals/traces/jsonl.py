"""Importer of the project's own format (``window_line``), which the window log writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.errors import TraceError
from evals.traces.strict_json import JsonLine, read_json_lines
from evals.traces.trace import Imported, TraceFormat
from evals.traces.window_line import FORMAT, WindowLine

_TODO = "Correct the line, or log the window again with evals.traces.WindowLog."


def read_jsonl(path: Path) -> Iterator[Imported]:
    """Yield one outcome a line.

    Raises:
        OSError: the file cannot be read.
    """
    for line in read_json_lines(path):
        yield _imported(line)


def _imported(line: JsonLine) -> Imported:
    if isinstance(line.value, TraceError):
        return Imported(line.where, line.value)
    try:
        return Imported(line.where, WindowLine.of(line.value, line.where, _TODO).window())
    except TraceError as error:
        return Imported(line.where, error)


def _recognises(value: Any) -> bool:
    return isinstance(value, dict) and value.get("format") == FORMAT


JSONL = TraceFormat(
    name="jsonl",
    looks_like=f'the project\'s own: one window a line, with "format": "{FORMAT}"',
    recognises=_recognises,
    read=read_jsonl,
)

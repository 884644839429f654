"""``load_trace``: a file or folder becomes windows, or one error with all that is wrong.

Design section 7: a trace with one bad record is refused whole, unless its user asks for the rest.
"""

import difflib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from evals.errors import ConfigError, TraceError
from evals.records import DatasetShape, Window
from evals.traces.honcho import HONCHO
from evals.traces.jsonl import JSONL
from evals.traces.locomo import LOCOMO
from evals.traces.strict_json import read_json_document, read_json_lines
from evals.traces.trace import (
    Imported,
    ImportReport,
    SkippedRecord,
    Trace,
    TraceFormat,
    shown_path,
)
from evals.untrusted import for_terminal

_FORMATS = {each.name: each for each in (HONCHO, JSONL, LOCOMO)}
TRACE_FORMATS: tuple[str, ...] = tuple(_FORMATS)
"""Names of the formats that can be read."""

_TRACE_SUFFIXES = frozenset([".json", ".jsonl", ".ndjson"])
_LINES_LOOKED_AT = 20
_FAULTS_SHOWN = 20


def load_trace(
    path: Path,
    *,
    trace_format: str | None = None,
    skip_bad_records: bool = False,
    dataset_shape: DatasetShape | None = None,
) -> Trace:
    """Import a trace.

    Args:
        path: a file, or a folder of which every ``.json``, ``.jsonl`` and ``.ndjson`` file is read,
            by name.
        trace_format: one of ``TRACE_FORMATS``; None tells it from the content of each file.
        skip_bad_records: leave bad records out, and list them in the report, instead of refusing
            the trace.
        dataset_shape: overrides what the format or the record says.

    Returns:
        All windows, their ids unique, and the report on what was read and what was not.

    Raises:
        ConfigError: there is no format of that name.
        TraceError: nothing is there, nothing of it can be read, or (without skip_bad_records) a
            record is bad; all bad records are listed, the first 20 in full.
    """
    forced = None if trace_format is None else _format_of(trace_format)
    files, skipped = _files_of(path)
    gathering = _Gathering(dataset_shape)
    gathering.skipped.extend(skipped)
    for file in files:
        gathering.take_file(file, forced)
    faults = gathering.faults
    if faults and (not skip_bad_records or len(faults) == gathering.records_read):
        raise _refusal(path, faults, gathering.records_read)
    return gathering.trace(path)


class _Gathering:
    """What has been read so far, of all files."""

    def __init__(self, dataset_shape: DatasetShape | None) -> None:
        self.records_read = 0
        self.skipped: list[SkippedRecord] = []
        self.faults: list[TraceError] = []
        self._windows: list[Window] = []
        self._where_by_id: dict[str, str] = {}
        self._formats: set[str] = set()
        self._dataset_shape = dataset_shape

    def take_file(self, file: Path, forced: TraceFormat | None) -> None:
        try:
            chosen = _recognised(file) if forced is None else forced
            before = self.records_read
            for imported in chosen.read(file):
                self._take(imported)
            if self.records_read == before:
                raise _empty(file)
            self._formats.add(chosen.name)
        except OSError as error:
            self._take_fault(
                TraceError(
                    shown_path(file),
                    for_terminal(str(error)),
                    "a readable file",
                    "Check its permissions.",
                )
            )
        except TraceError as error:
            self._take_fault(error)

    def _take(self, imported: Imported) -> None:
        outcome = imported.outcome
        if isinstance(outcome, TraceError):
            self._take_fault(outcome)
            return
        if isinstance(outcome, SkippedRecord):
            self.records_read += 1
            self.skipped.append(outcome)
            return
        first = self._where_by_id.setdefault(outcome.window_id, imported.where)
        if first != imported.where:
            self._take_fault(
                TraceError(
                    imported.where,
                    f"the window id {for_terminal(outcome.window_id, 80)!r}, also at {first}",
                    "an id of its own for each window",
                    "Take out what is there twice, or give it another id.",
                )
            )
            return
        self.records_read += 1
        shape = self._dataset_shape
        self._windows.append(
            outcome if shape is None else outcome.model_copy(update={"dataset_shape": shape})
        )

    def _take_fault(self, fault: TraceError) -> None:
        self.records_read += 1
        self.faults.append(fault)

    def trace(self, path: Path) -> Trace:
        bad = [
            SkippedRecord(
                where=fault.where, kind="bad", why=f"found {fault.found}; wanted {fault.wanted}"
            )
            for fault in self.faults
        ]
        report = ImportReport(
            path=shown_path(path),
            trace_format=", ".join(sorted(self._formats)),
            records_read=self.records_read,
            windows=len(self._windows),
            conclusions=sum(len(window.conclusions) for window in self._windows),
            skipped=(*self.skipped, *bad),
        )
        return Trace(windows=tuple(self._windows), import_report=report)


def _format_of(name: str) -> TraceFormat:
    if name in _FORMATS:
        return _FORMATS[name]
    close = difflib.get_close_matches(name, TRACE_FORMATS, n=1)
    raise ConfigError(
        "trace format",
        repr(for_terminal(name, 40)),
        f"one of {', '.join(TRACE_FORMATS)}",
        f"Did you mean {close[0]!r}?" if close else "Or name none: it is told from the content.",
    )


def _files_of(path: Path) -> tuple[list[Path], list[SkippedRecord]]:
    shown = shown_path(path)
    if path.is_file():
        return [path], []
    if not path.is_dir():
        found = "something that is no file" if path.exists() else "no such file or folder"
        raise TraceError(shown, found, "a trace file or a folder of them", "Check the path.")
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise TraceError(
            shown, for_terminal(str(error)), "a readable folder", "Check its permissions."
        ) from error
    files = [entry for entry in entries if _is_trace_file(entry)]
    if not files:
        raise TraceError(
            shown,
            "a folder without trace files",
            f"files ending in {', '.join(sorted(_TRACE_SUFFIXES))}",
            "Name the folder that holds them (folders in it are not searched), or one file.",
        )
    others = [
        SkippedRecord(
            where=shown_path(entry),
            kind="other_file",
            why="a folder" if entry.is_dir() else "its name does not end as a trace's",
        )
        for entry in entries
        if not _is_trace_file(entry)
    ]
    return files, others


def _is_trace_file(entry: Path) -> bool:
    return entry.suffix.lower() in _TRACE_SUFFIXES and entry.is_file()


def _recognised(file: Path) -> TraceFormat:
    if next(read_json_lines(file), None) is None:
        raise _empty(file)
    for value in _first_values(file):
        for each in _FORMATS.values():
            if each.recognises(value):
                return each
    raise TraceError(
        shown_path(file),
        "content of no known format",
        "; or ".join(f"{each.name} ({each.looks_like})" for each in _FORMATS.values()),
        "Choose another file, or name its format with --trace-format to see what does not fit.",
    )


def _first_values(file: Path) -> Iterator[Any]:
    """Yield the first lines' objects, then, for JSON that runs over several lines, the whole."""
    for line in islice(read_json_lines(file), _LINES_LOOKED_AT):
        if not isinstance(line.value, TraceError):
            yield line.value
    try:
        document = read_json_document(file)
    except TraceError:
        return
    yield document


def _empty(file: Path) -> TraceError:
    return TraceError(
        shown_path(file),
        "an empty file, without a record",
        "a trace",
        "Check that the trace was written to this place.",
    )


def _refusal(path: Path, faults: list[TraceError], records_read: int) -> TraceError:
    if len(faults) == 1 and records_read == 1:
        return faults[0]
    listed = "".join(f"\n  {fault}" for fault in faults[:_FAULTS_SHOWN])
    more = len(faults) - _FAULTS_SHOWN
    rest = f"\n  … and {more} more" if more > 0 else ""
    todo = (
        "Not one can be read, so check the file and its format"
        if len(faults) == records_read
        else "Repair them, or run with --skip-bad-records to import the others"
    )
    return TraceError(
        shown_path(path),
        f"{len(faults)} bad of {records_read} records",
        "none",
        f"{todo}:{listed}{rest}",
    )

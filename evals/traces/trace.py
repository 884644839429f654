"""What an import yields: the trace, the report on it, and what becomes of one record."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from evals.errors import TraceError
from evals.records import Conclusion, Record, Window, conclusion_id_of
from evals.untrusted import for_terminal

_PATH_LIMIT = 1000


class SkippedRecord(Record):
    """A part of the source that gave no window, and why: nothing is dropped silently (design 7)."""

    where: str
    """``file:line``, or file and JSON path."""
    kind: str
    """``other_call`` (not the deriver's), ``truncated`` (the deriver's answer was cut off),
    ``no_conclusions`` (a session that nothing was derived from), ``other_file`` (no trace file),
    ``bad`` (unreadable, with skip_bad_records)."""
    why: str


class ImportReport(Record):
    """What was read, and what came of it."""

    path: str
    trace_format: str
    """Name of the format; several, joined with ``, ``, where the files of a folder differ."""
    records_read: int
    """Lines, or sessions: each gave a window or stands in ``skipped``."""
    windows: int
    conclusions: int
    skipped: tuple[SkippedRecord, ...]


class Trace(Record):
    """An imported trace: windows in the order of the source."""

    windows: tuple[Window, ...]
    import_report: ImportReport


class Imported(NamedTuple):
    """What became of one record: a window, a stated reason for none, or what is wrong with it."""

    where: str
    outcome: Window | SkippedRecord | TraceError


@dataclass(frozen=True)
class TraceFormat:
    """One importer."""

    name: str
    looks_like: str
    """What a file of this format holds, for a reader who has to recognise it."""
    recognises: Callable[[Any], bool]
    """Whether a file whose first JSON value (a line's, or the whole file's) is this one is ours."""
    read: Callable[[Path], Iterator[Imported]]
    """Yield one ``Imported`` a record. Raises ``OSError`` where the file cannot be read."""


def shown_path(path: Path) -> str:
    """Return ``path`` as messages and reports show it: file names are strangers' text too."""
    return for_terminal(str(path), _PATH_LIMIT)


def conclusions_of(
    window_id: str,
    peers_and_texts: Iterable[tuple[str, str]],
    *,
    deriver_prompt_hash: str | None = None,
    deriver_model_id: str | None = None,
    derived_at: datetime | None = None,
) -> tuple[Conclusion, ...]:
    """Return the conclusions of one window, numbered from 0 in the order given.

    Args:
        window_id: id of the window they were minted from.
        peers_and_texts: whom each is about, and its text.
        deriver_prompt_hash: see ``Conclusion``; this and the next two hold for all of them.
        deriver_model_id: see ``Conclusion``.
        derived_at: see ``Conclusion``.
    """
    return tuple(
        Conclusion(
            conclusion_id=conclusion_id_of(window_id, ordinal, text),
            ordinal=ordinal,
            peer_id=peer_id,
            text=text,
            deriver_prompt_hash=deriver_prompt_hash,
            deriver_model_id=deriver_model_id,
            derived_at=derived_at,
        )
        for ordinal, (peer_id, text) in enumerate(peers_and_texts)
    )

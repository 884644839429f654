"""Reading a run record back, strictly: what is not whole and consistent is an error."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.errors import RunError
from evals.judging.case import Row
from evals.premise.row import ConclusionRow
from evals.records import Window, window_text_hash_of
from evals.runs.info import ROWS_FILE, RUN_FILE, WINDOWS_FILE, RunInfo
from evals.runs.stored import (
    RESTORE,
    ROW_SHAPES,
    RowIndex,
    StoredRows,
    StoredWindows,
    parsed,
    rows_of,
    unreadable,
)
from evals.runs.summary import RunSummary, summarize
from evals.untrusted import for_terminal


@dataclass(frozen=True)
class LoadedRun:
    """A run as its folder tells it."""

    info: RunInfo
    rows: Sequence[Row]
    """Of every instrument, in the order in which they ended; read as they are asked for."""
    windows: Mapping[str, Window]
    """Window id -> window, of every row; read as they are asked for."""
    summary: RunSummary
    """Made from ``rows`` just now."""
    cut_rows: int
    """1 where a kill cut the last line of ``rows.jsonl``: that item counts as not run; else 0.
    Always 0 for a complete run."""

    @property
    def conclusions(self) -> Sequence[ConclusionRow]:
        """The rows of the premise judge."""
        return rows_of(ConclusionRow, self.rows)


class _Tag(BaseModel):
    model_config = ConfigDict(extra="ignore")

    instrument: str


def load_run(run_dir: Path) -> LoadedRun:
    """Read one run.

    Args:
        run_dir: a folder that ``RunWriter`` wrote; the run may have been killed.

    Raises:
        RunError: a file is missing, holds anything else than its writer writes, or does not fit the
            others; or the run says that it is complete and its rows are not. Says file and line.
    """
    info = _read_info(run_dir / RUN_FILE)
    windows = _read_windows(run_dir / WINDOWS_FILE)
    rows, cut_rows = _read_rows(run_dir / ROWS_FILE, info, windows)
    if info.complete and (cut_rows or len(rows) != info.selected):
        raise _inconsistent(
            str(run_dir / ROWS_FILE),
            f"{len(rows)} whole rows{' and a cut one' if cut_rows else ''}",
            f"{info.selected}: {RUN_FILE} says that every selected item has ended",
        )
    return LoadedRun(
        info=info,
        rows=rows,
        windows=windows,
        summary=summarize(rows, info.coverage_policy),
        cut_rows=cut_rows,
    )


def _read_info(path: Path) -> RunInfo:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(
            str(path), str(error), "the record of a run", "Name a folder below reports/."
        ) from error
    return parsed(content, RunInfo, str(path))


def _read_windows(path: Path) -> StoredWindows:
    windows = StoredWindows(path)
    for where, start, line in _lines(path):
        if not line.endswith(b"\n") and _is_cut(line):
            continue  # a row comes after its window, so no row can need this one
        window = parsed(line, Window, where)
        if window.window_id in windows:
            raise _inconsistent(where, f"window {window.window_id} again", "each window once")
        if window.window_text_hash != window_text_hash_of(window.messages):
            raise _inconsistent(
                where,
                f"messages that are not those of window {window.window_id}'s hash",
                "the window as it was judged",
            )
        windows.add(window, start)
    return windows


def _read_rows(path: Path, info: RunInfo, windows: StoredWindows) -> tuple[StoredRows[Row], int]:
    index, seen = RowIndex(path), set[tuple[str, str]]()
    cut = 0
    for where, start, line in _lines(path):
        if not line.endswith(b"\n") and _is_cut(line):
            cut += 1
            continue
        shape = _shape_of(line, where)
        row = parsed(line, shape, where)
        _check_fits(row, info, windows, where)
        if (row.instrument, row.case_id) in seen:
            raise _inconsistent(where, f"a second row of {row.case_id}", "one row an item of a run")
        seen.add((row.instrument, row.case_id))
        index.add(start, shape, row.provenance.window_id)
    return index.rows, cut


def _lines(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """Yield where each line is, for a reader, the byte that it starts at, and the line."""
    # Bytes, split at \n alone: U+2028 and the like stand unescaped inside JSON strings.
    try:
        with path.open("rb") as file:
            start = 0
            for number, line in enumerate(file, 1):
                yield f"{path}:{number}", start, line
                start += len(line)
    except OSError as error:
        raise unreadable(path, error) from error


def _is_cut(line: bytes) -> bool:
    # Only a last line can lack its line break; whole JSON before the break is a whole line.
    try:
        _Tag.model_validate_json(line)
    except ValidationError as error:
        return error.errors(include_url=False)[0]["type"] == "json_invalid"
    return False


def _shape_of(line: bytes, where: str) -> type[Row]:
    instrument = parsed(line, _Tag, where).instrument
    if instrument not in ROW_SHAPES:
        raise RunError(
            where,
            f"a row of the instrument {for_terminal(instrument, 40)!r}",
            f"one of {', '.join(ROW_SHAPES)}",
            "Read it with the version of this project that wrote it.",
        )
    return ROW_SHAPES[instrument]


def _check_fits(row: Row, info: RunInfo, windows: StoredWindows, where: str) -> None:
    provenance = row.provenance
    if provenance.run_id != info.run_id:
        raise _inconsistent(
            where, f"a row of run {provenance.run_id}", f"rows of run {info.run_id}"
        )
    text_hash = windows.text_hash(provenance.window_id)
    if text_hash != provenance.window_text_hash:
        found = "no such window" if text_hash is None else "a window with another text"
        raise _inconsistent(
            where,
            f"{found} as {provenance.window_id} in {WINDOWS_FILE}",
            "the window that the row was judged with",
        )


def _inconsistent(where: str, found: str, wanted: str) -> RunError:
    return RunError(where, for_terminal(found), for_terminal(wanted), RESTORE)

"""Writing the run record as the run goes."""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from evals.errors import RunError
from evals.files import OWNER_ONLY, make_private, write_whole
from evals.judging.case import Row
from evals.records import Record, Window
from evals.runs.info import ROWS_FILE, RUN_FILE, SUMMARY_FILE, WINDOWS_FILE, RunInfo
from evals.runs.stored import ROW_SHAPES, RowIndex, StoredRows, StoredWindows
from evals.runs.summary import RunSummary

_DIR_MODE = 0o700


class RunWriter:
    """Writes one run's record as the run goes. Safe to use from several threads."""

    def __init__(self, run_dir: Path) -> None:
        """Create the folder and claim it.

        Args:
            run_dir: ``reports/<run_id>``; may exist, empty of a run.

        Raises:
            RunError: the folder holds a run already, or cannot be written.
        """
        self.run_dir = run_dir
        self._lock = threading.Lock()
        self._index = RowIndex(run_dir / ROWS_FILE)
        self._stored = StoredWindows(run_dir / WINDOWS_FILE)
        with _writing(run_dir):
            make_private(run_dir)
            run_dir.chmod(_DIR_MODE)
            self._refuse_if(found=(run_dir / RUN_FILE).exists())
            try:
                self._rows = _open_new(run_dir / ROWS_FILE)
            except FileExistsError:
                self._refuse_if(found=True)
            self._windows = _open_new(run_dir / WINDOWS_FILE)

    def start(self, info: RunInfo) -> None:
        """Write ``run.json``; ``info.complete`` is False here.

        Raises:
            RunError: the file cannot be written.
        """
        self._write(RUN_FILE, info)

    def add_window(self, window: Window) -> None:
        """Append a window, the first time that its id comes; call it before its rows.

        Raises:
            RunError: the file cannot be written.
        """
        with self._lock:
            if window.window_id not in self._stored:
                start = _append(self._windows, window.model_dump_json(), self._stored.path)
                self._stored.add(window, start)

    def add_row(self, row: Row) -> int:
        """Append a row; see ``add_row_json``."""
        return self.add_row_json(row.model_dump_json(), row.instrument, row.provenance.window_id)

    def add_row_json(self, row_json: str, instrument: str, window_id: str) -> int:
        """Append a row and hand it to the operating system, so that a kill cannot lose it.

        Args:
            row_json: what ``model_dump_json`` gives: one line.
            instrument: the row's.
            window_id: the window that it is about.

        Returns:
            Its place among ``rows``.

        Raises:
            RunError: the file cannot be written.
        """
        with self._lock:
            start = _append(self._rows, row_json, self._index.path)
            return self._index.add(start, ROW_SHAPES[instrument], window_id)

    @property
    def rows(self) -> StoredRows[Row]:
        """What has been added so far, to be read back."""
        return self._index.rows

    @property
    def windows(self) -> StoredWindows:
        """The windows that have been added so far, to be read back."""
        return self._stored

    def finish(self, info: RunInfo, summary: RunSummary) -> None:
        """Write ``summary.json``, then ``run.json`` again, and close.

        Raises:
            RunError: a file cannot be written.
        """
        self.close()
        self._write(SUMMARY_FILE, summary)
        self._write(RUN_FILE, info)

    def close(self) -> None:
        """Close the appended files; the record stands as that of an incomplete run.

        Raises:
            RunError: what an earlier full disk held back still cannot be written.
        """
        with self._lock, _writing(self.run_dir), self._windows, self._rows:
            pass  # leaving closes both, whatever happens to one of them

    def _refuse_if(self, *, found: bool) -> None:
        if found:
            raise RunError(
                str(self.run_dir),
                "a run",
                "a folder without one",
                "Choose another --run-id, or move the folder away: a run is never overwritten.",
            )

    def _write(self, name: str, record: Record) -> None:
        write_atomically(self.run_dir / name, record.model_dump_json(indent=2))


def write_atomically(path: Path, text: str, mode: int = OWNER_ONLY) -> None:
    """Write a whole file; a reader sees the old text or the new one.

    Args:
        path: in a folder that is there.
        text: without its last line break, which is added.
        mode: of the file, less the umask: the user's alone, unless it quotes nobody.

    Raises:
        RunError: it cannot be written.
    """
    write_pieces(path, (text, "\n"), mode)


def write_pieces(path: Path, pieces: Iterable[str], mode: int = OWNER_ONLY) -> None:
    """Write a whole file piece by piece, as ``write_atomically``; nothing is added.

    Raises:
        RunError: it cannot be written.
    """
    with _writing(path):
        write_whole(path, pieces, mode)


def _append(file: IO[bytes], line: str, path: Path) -> int:
    """Write a line, and return the byte that it starts at."""
    with _writing(path):
        start = file.tell()  # what a full disk held back counts: it will come first
        file.write(line.encode() + b"\n")
        file.flush()
    return start


def _open_new(path: Path) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
    return os.fdopen(os.open(path, flags, OWNER_ONLY), "ab")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            str(path),
            str(error),
            "a place that can be written",
            "Free space or mend its permissions, or choose another --reports-dir.",
        ) from error

"""Pages made from the files of a run are those made from its rows in memory, to the letter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.premise.row import ConclusionRow
from evals.report import spool
from evals.report.cases import cases_pieces
from evals.report.queue_file import write_queue
from evals.report.windows import windows_pieces
from evals.runs.stored import rows_of
from evals.runs.writer import RunWriter
from tests.report.conftest import info_of
from tests.report.window_rows import (
    told_rows,
    told_window,
    unjudged_batch,
    unjudged_coverage,
    verdict_rows,
)

WINDOWS = {f"w{number}": told_window(window_id=f"w{number}") for number in range(4)}
ROWS = [
    *(row for name in ("w0", "w1") for row in told_rows(WINDOWS[name])),
    *verdict_rows(WINDOWS["w2"], "+-?"),
    unjudged_coverage(WINDOWS["w2"]),
    unjudged_batch(WINDOWS["w3"]),
]
INFO = info_of()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunWriter]:
    writer = RunWriter(tmp_path / "run-1")
    for window in WINDOWS.values():
        writer.add_window(window)
    # As from several workers: the rows of a window do not stand together.
    for row in sorted(ROWS, key=lambda row: row.instrument):
        writer.add_row(row)
    yield writer
    writer.close()


@pytest.mark.parametrize("in_memory_bytes", [10, 1_000_000], ids=["on-disk", "in-memory"])
def test_cases_and_windows_are_the_same_from_file_and_memory(
    run: RunWriter, monkeypatch: pytest.MonkeyPatch, in_memory_bytes: int
) -> None:
    monkeypatch.setattr(spool, "_IN_MEMORY_BYTES", in_memory_bytes)
    held = sorted(ROWS, key=lambda row: row.instrument)
    stored_cases, held_cases = (rows_of(ConclusionRow, rows) for rows in (run.rows, held))
    cases = "".join(cases_pieces(INFO, stored_cases, run.windows, run.run_dir))
    assert cases == "".join(cases_pieces(INFO, held_cases, WINDOWS))
    windows = "".join(windows_pieces(INFO, run.rows, run.windows, run.run_dir))
    assert windows == "".join(windows_pieces(INFO, held, WINDOWS))
    assert all("ana lives in Porto" in page for page in (cases, windows))


def test_the_queue_is_the_same_from_file_and_memory(run: RunWriter, tmp_path: Path) -> None:
    from_file = write_queue(run.run_dir, run.rows, run.windows)
    from_memory = write_queue(tmp_path, ROWS, WINDOWS)
    assert from_file is not None
    assert from_memory is not None
    assert from_file.read_bytes() == from_memory.read_bytes() != b""

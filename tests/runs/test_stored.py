"""Rows and windows are read from their files when they are asked for, and never held."""

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evals.coverage.row import CoverageRow
from evals.errors import RunError
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.runs.load import load_run
from evals.runs.stored import rows_by_window, rows_of
from evals.runs.summary import summarize
from evals.runs.writer import RunWriter
from tests.report.window_rows import told_rows, told_window

MakeRow = Callable[..., ConclusionRow]
WINDOWS = [told_window(window_id=f"w{number}") for number in range(3)]
ROWS = [row for window in WINDOWS for row in told_rows(window)]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RunWriter]:
    """A run of three windows and the rows of every instrument about them."""
    writer = RunWriter(tmp_path / "run-1")
    for window in WINDOWS:
        writer.add_window(window)
    for row in ROWS:
        writer.add_row(row)
    yield writer
    writer.close()


def test_what_was_written_is_read_back_in_any_order(writer: RunWriter) -> None:
    assert len(writer.rows) == len(ROWS)
    assert list(writer.rows) == ROWS
    assert [writer.rows[place] for place in (5, 0, -1)] == [ROWS[5], ROWS[0], ROWS[-1]]
    assert list(writer.rows[2:5]) == ROWS[2:5]
    assert writer.windows == {window.window_id: window for window in WINDOWS}
    assert ("w1" in writer.windows, "w9" in writer.windows) == (True, False)


def test_a_place_is_that_of_the_row_it_was_given_for(writer: RunWriter, make_row: MakeRow) -> None:
    row = make_row(7)
    place = writer.add_row(row)
    assert writer.rows[place] == row


def test_rows_that_were_added_later_are_in_no_earlier_view(
    writer: RunWriter, make_row: MakeRow
) -> None:
    before = writer.rows
    writer.add_row(make_row())
    assert (len(before), len(writer.rows)) == (len(ROWS), len(ROWS) + 1)


@pytest.mark.parametrize("shape", [ConclusionRow, CoverageRow])
def test_rows_of_one_shape_are_the_same_from_file_and_memory(
    writer: RunWriter, shape: type[ConclusionRow | CoverageRow]
) -> None:
    stored, held = rows_of(shape, writer.rows), rows_of(shape, ROWS)
    assert held
    assert (len(stored), list(stored), stored[0]) == (len(held), held, held[0])


def test_rows_by_window_are_the_same_from_file_and_memory(writer: RunWriter) -> None:
    mixed = sorted(ROWS, key=lambda row: row.instrument)
    again = RunWriter(writer.run_dir.with_name("run-2"))
    for row in mixed:
        again.add_row(row)
    found = list(rows_by_window(again.rows))
    assert found == list(rows_by_window(mixed))
    assert [window_id for window_id, _ in found] == ["w0", "w1", "w2"]
    assert all(row.provenance.window_id == name for name, rows in found for row in rows)
    again.close()


def test_the_summary_is_the_same_from_file_and_memory(writer: RunWriter) -> None:
    assert summarize(writer.rows) == summarize(ROWS)


def test_a_row_that_is_written_is_not_kept_alive(writer: RunWriter, make_row: MakeRow) -> None:
    row = make_row(9)
    alive = weakref.ref(row)
    writer.add_row(row)
    del row
    gc.collect()
    assert alive() is None


def test_no_more_than_one_row_is_alive_while_rows_are_gone_through(writer: RunWriter) -> None:
    alive = weakref.WeakSet[object]()
    for row in rows_of(ConclusionRow, writer.rows):
        alive.add(Holder(row))
        assert len(alive) == 1
    assert len(rows_of(ConclusionRow, writer.rows)) > 3


class Holder:
    """Lives as long as the row that carries it: a frozen record cannot be referred to weakly."""

    def __init__(self, row: ConclusionRow) -> None:
        row.__dict__["holder"] = self


def test_a_file_that_was_changed_since_is_an_error_with_its_place(writer: RunWriter) -> None:
    path = writer.run_dir / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    assert writer.rows[0] == ROWS[0]
    with pytest.raises(RunError, match=r"rows\.jsonl, byte \d+: found the whole: Invalid JSON"):
        list(writer.rows)
    path.unlink()
    with pytest.raises(RunError, match=r"rows\.jsonl: found .*No such file"):
        writer.rows[0]
    (writer.run_dir / "windows.jsonl").write_text("{}")
    with pytest.raises(RunError, match=r"windows\.jsonl, byte 0: .*Field required"):
        writer.windows["w0"]
    (writer.run_dir / "windows.jsonl").unlink()
    with pytest.raises(RunError, match=r"windows\.jsonl: found .*No such file"):
        writer.windows["w0"]


def test_a_loaded_run_reads_on_after_a_row_without_its_line_break(
    tmp_path: Path,
    make_info: Callable[..., object],
    make_row: MakeRow,
    make_window: Callable[..., Window],
) -> None:
    writer = RunWriter(tmp_path / "run-1")
    info = make_info()
    (tmp_path / "run-1" / "run.json").write_text(info.model_dump_json())  # type: ignore[attr-defined]
    writer.add_window(make_window())
    rows = [make_row(0), make_row(1)]
    for row in rows:
        writer.add_row(row)
    writer.close()
    path = tmp_path / "run-1" / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert list(load_run(tmp_path / "run-1").rows) == rows

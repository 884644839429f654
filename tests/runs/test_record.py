import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Literal

import pytest

from evals.errors import RunError
from evals.judging.case import Row
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.runs.bought import TokensBought
from evals.runs.gates import check_gates, parse_gates
from evals.runs.record import RunInfo, RunWriter, load_run
from evals.runs.stored import ROW_SHAPES
from evals.runs.summary import summarize
from evals.runs.writer import write_atomically

MakeRow = Callable[..., ConclusionRow]
MakeInfo = Callable[..., RunInfo]
MakeWindow = Callable[..., Window]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "reports" / "run-1"


@pytest.fixture
def written(run_dir: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow) -> Path:
    """A finished run of three rows over two windows."""
    windows = [make_window("w0001"), make_window("w0002", "other words")]
    rows = [
        make_row(0, window=windows[0]),
        make_row(1, window=windows[0], sound=False),
        make_row(0, window=windows[1], sound=None),
    ]
    writer = RunWriter(run_dir)
    writer.start(make_info())
    for window in windows:
        writer.add_window(window)
    for row in rows:
        writer.add_row(row)
    writer.finish(make_info(complete=True, collected=3, selected=3), summarize(rows))
    return run_dir


@pytest.fixture
def killed(written: Path, make_info: MakeInfo) -> Path:
    """The same three rows of a run that was killed."""
    info = make_info(collected=9, selected=9)
    (written / "run.json").write_text(info.model_dump_json(), encoding="utf-8")
    return written


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def test_a_run_comes_back_as_it_was_written(
    run_dir: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    window, rows = make_window(), [make_row(0), make_row(1, sound=False), make_row(2, sound=None)]
    summary = summarize(rows)
    info = make_info(
        complete=True,
        collected=3,
        selected=3,
        models_served=("unknown-claude",),
        counts_are="exact",
        calls_sent=4,
        calls_sent_again=1,
        http_attempts=5,
        answers_bought=4,
        calls_taken_up=0,
        tokens_bought=TokensBought(input=40, cache_read=0, cache_write=0, output=4),
        gate_expressions=("pass_rate >= 0.5", "mean_minimality >= 0.5"),
        gates=check_gates(parse_gates(["pass_rate >= 0.5", "mean_minimality >= 0.5"]), summary),
    )
    writer = RunWriter(run_dir)
    writer.start(make_info())
    writer.add_window(window)
    for row in rows:
        writer.add_row(row)
    writer.finish(info, summary)

    loaded = load_run(run_dir)
    assert loaded.info == info
    assert list(loaded.rows) == list(loaded.conclusions) == rows
    assert loaded.windows == {window.window_id: window}
    assert loaded.summary == summary
    assert loaded.cut_rows == 0


def test_the_record_is_the_users_alone(written: Path) -> None:
    assert written.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in written.iterdir()} == {
        "run.json",
        "rows.jsonl",
        "windows.jsonl",
        "summary.json",
    }
    assert {path.stat().st_mode & 0o777 for path in written.iterdir()} == {0o600}


def test_a_window_is_written_once(
    run_dir: Path, make_info: MakeInfo, make_window: MakeWindow
) -> None:
    writer = RunWriter(run_dir)
    writer.start(make_info())
    for _ in range(3):
        writer.add_window(make_window())
    writer.close()
    assert (run_dir / "windows.jsonl").read_bytes().count(b"\n") == 1


def test_rows_of_several_threads_do_not_mix(
    run_dir: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    window = make_window(text="long " * 5_000)
    writer = RunWriter(run_dir)
    writer.start(make_info())
    writer.add_window(window)

    def add(start: int) -> None:
        for number in range(start, start + 20):
            writer.add_row(make_row(number, window=window))

    threads = [Thread(target=add, args=(start,)) for start in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert len(load_run(run_dir).rows) == 60


def test_a_folder_that_holds_a_run_is_not_written_to(written: Path, make_info: MakeInfo) -> None:
    before = {path: path.read_bytes() for path in written.iterdir()}
    with pytest.raises(RunError, match=r"found a run; .* Choose another --run-id"):
        RunWriter(written).start(make_info())
    assert {path: path.read_bytes() for path in written.iterdir()} == before


@pytest.mark.parametrize("left", ["run.json", "rows.jsonl"])
def test_part_of_a_run_keeps_its_folder_too(run_dir: Path, left: str) -> None:
    run_dir.mkdir(parents=True)
    (run_dir / left).touch()
    with pytest.raises(RunError, match="found a run"):
        RunWriter(run_dir)


def test_an_empty_folder_may_exist_already(run_dir: Path, make_info: MakeInfo) -> None:
    run_dir.mkdir(parents=True, mode=0o755)
    (run_dir / "report.html").touch()
    writer = RunWriter(run_dir)
    writer.start(make_info())
    writer.close()
    assert run_dir.stat().st_mode & 0o777 == 0o700


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "reports").touch()
    with pytest.raises(RunError, match="--reports-dir"):
        RunWriter(tmp_path / "reports" / "run-1")


def test_a_full_disk_is_a_run_error(run_dir: Path, make_info: MakeInfo, make_row: MakeRow) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    writer = RunWriter(run_dir)
    writer.start(make_info())
    writer._rows.close()
    writer._rows = Path("/dev/full").open("wb")  # noqa: SIM115  the writer closes it
    with pytest.raises(RunError, match="No space left"):
        writer.add_row(make_row())
    with pytest.raises(RunError, match="No space left"):
        writer.close()


def test_what_a_killed_writer_left_beside_a_file_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".run.json.part").write_text("half")
    write_atomically(tmp_path / "run.json", "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert (tmp_path / "run.json").read_text() == "{}\n"


def test_a_run_under_way_can_be_read(
    run_dir: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    writer = RunWriter(run_dir)
    writer.start(make_info())
    writer.add_window(make_window())
    writer.add_row(make_row())
    loaded = load_run(run_dir)
    assert (loaded.info.complete, len(loaded.rows)) == (False, 1)
    writer.close()


def test_a_killed_run_keeps_every_row_that_was_added(
    run_dir: Path, tmp_path: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    for name, record in (("info", make_info()), ("window", make_window()), ("row", make_row())):
        (tmp_path / name).write_text(record.model_dump_json())
    program = f"""
import os, signal
from pathlib import Path
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.runs.record import RunInfo, RunWriter
def read(shape, name):
    return shape.model_validate_json(Path({str(tmp_path)!r}, name).read_bytes())
writer = RunWriter(Path({str(run_dir)!r}))
writer.start(read(RunInfo, "info"))
writer.add_window(read(Window, "window"))
writer.add_row(read(ConclusionRow, "row"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, check=False)
    assert done.returncode < 0
    loaded = load_run(run_dir)
    assert list(loaded.rows) == [make_row()]
    assert (loaded.info.complete, loaded.cut_rows) == (False, 0)


@pytest.mark.parametrize("cut", [1, 2, 100, 1_000])
def test_a_cut_last_row_is_reported_and_the_rest_is_read(killed: Path, cut: int) -> None:
    edit(killed / "rows.jsonl", lambda content: content[: -cut - 1])
    loaded = load_run(killed)
    assert (len(loaded.rows), loaded.cut_rows) == (2, 1)
    assert loaded.summary == summarize(loaded.rows)


def test_a_last_row_that_lacks_only_its_line_break_is_whole(written: Path) -> None:
    edit(written / "rows.jsonl", lambda content: content[:-1])
    loaded = load_run(written)
    assert (len(loaded.rows), loaded.cut_rows) == (3, 0)


def test_a_row_cut_inside_a_character_is_a_cut_row(killed: Path) -> None:
    edit(killed / "rows.jsonl", lambda content: content + '{"instrument": "ä'.encode()[:-1])
    assert load_run(killed).cut_rows == 1


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda content: b"".join(content.splitlines(keepends=True)[:2]), "2 whole rows"),
        (lambda content: content[:0], "0 whole rows"),
        (lambda content: content[:-2], "2 whole rows and a cut one"),
        (lambda content: content + b'{"kind"', "3 whole rows and a cut one"),
    ],
)
def test_a_complete_run_without_all_its_rows_is_refused(
    written: Path, change: Callable[[bytes], bytes], found: str
) -> None:
    edit(written / "rows.jsonl", change)
    with pytest.raises(RunError) as caught:
        load_run(written)
    assert caught.value.where == str(written / "rows.jsonl")
    assert caught.value.found == found
    assert caught.value.wanted.startswith("3: run.json says")


def test_a_complete_run_with_rows_that_it_did_not_select_is_refused(written: Path) -> None:
    edit(written / "run.json", lambda content: content.replace(b'"selected": 3', b'"selected": 2'))
    with pytest.raises(RunError, match="found 3 whole rows; wanted 2"):
        load_run(written)


class OtherRow(Row):
    """A row of an instrument that does not exist."""

    kind: Literal["window"]
    instrument: Literal["other"]


def test_another_instrument_is_one_entry_in_the_table_of_shapes(
    killed: Path, make_row: MakeRow, make_window: MakeWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    provenance = make_row(window=make_window("w0001")).provenance
    row = OtherRow(
        kind="window", instrument="other", case_id="w0001", outcome="scored", unjudged=None,
        calls=(), provenance=provenance,
    )  # fmt: skip
    edit(killed / "rows.jsonl", lambda content: content + row.model_dump_json().encode() + b"\n")
    with pytest.raises(RunError, match="a row of the instrument 'other'"):
        load_run(killed)
    monkeypatch.setitem(ROW_SHAPES, "other", OtherRow)
    loaded = load_run(killed)
    assert list(loaded.rows) == [*loaded.conclusions, row]
    assert len(loaded.conclusions) == 3


def test_a_cut_last_window_is_no_error_as_long_as_no_row_needs_it(written: Path) -> None:
    edit(written / "windows.jsonl", lambda content: content + b'{"window_id": "w0')
    assert set(load_run(written).windows) == {"w0001", "w0002"}
    edit(written / "windows.jsonl", lambda content: content[: content.index(b"\n") + 40])
    with pytest.raises(RunError, match=r"rows.jsonl:3: found no such window as w0002"):
        load_run(written)


def test_the_summary_is_made_again_and_never_read_back(written: Path) -> None:
    (written / "summary.json").write_text("{broken")
    summary = load_run(written).summary
    assert summary.premise is not None
    assert (summary.premise.pass_rate.hits, summary.premise.pass_rate.n) == (1, 2)


@pytest.mark.parametrize("name", ["run.json", "rows.jsonl", "windows.jsonl"])
def test_a_missing_file_is_named(written: Path, name: str) -> None:
    (written / name).unlink()
    with pytest.raises(RunError, match=name.replace(".", r"\.")):
        load_run(written)


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="Name a folder below reports/"):
        load_run(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "old", "new", "where", "found"),
    [
        ("rows.jsonl", b'"instrument":"premise"', b'"instrument":"x"', ":1", "instrument 'x'"),
        ("rows.jsonl", b'"instrument":"premise"', b'"instrument":7', ":1", "instrument: "),
        ("rows.jsonl", b'"token_count":5', b'"token_count":"5"', ":1", "token_count: "),
        ("rows.jsonl", b'"token_count":5', b'"token_count":5,"more":1', ":1", "more: "),
        ("rows.jsonl", b'"token_count":5', b'"tokens":5', ":1", "token_count: Field required"),
        ("rows.jsonl", b'"decontextuality":0.9', b'"decontextuality":NaN', ":1", "pass_1."),
        ("rows.jsonl", b'{"kind"', b'"kind"', ":1", "Invalid JSON"),
        ("rows.jsonl", b'{"kind"', b'\n{"kind"', ":1", "Invalid JSON"),
        ("rows.jsonl", b'"run_id":"run-1"', b'"run_id":"run-2"', ":1", "a row of run run-2"),
        ("rows.jsonl", b'"window_id":"w0001"', b'"window_id":"w7"', ":1", "no such window as w7"),
        ("rows.jsonl", b"0001/001", b"0001/000", ":2", "a second row of w0001/000-abc"),
        ("windows.jsonl", b"I am allergic", b"I am fond", ":1", "messages that are not those of"),
        ("windows.jsonl", b'"window_id":"w0002"', b'"window_id":"w0001"', ":2", "w0001 again"),
        ("windows.jsonl", b'"sent_at":', b'"sent":', ":1", "messages.0.sent_at: Field required"),
        ("run.json", b'"complete": true', b'"complete": 1', "", "complete: "),
        ("run.json", b'"selected": 3', b'"selected": 3, "x": 1', "", "x: "),
        ("run.json", b'"run_id"', b"run_id", "", "Invalid JSON"),
        ("run.json", b'"calls_sent": null', b'"calls_sent": -1', "", "calls_sent: "),
        (
            "run.json",
            b'"calls_sent": null',
            b'"calls_sent": 1',
            "",
            "counts are null exactly where",
        ),
        ("run.json", b'"counts_are": "unknown"', b'"counts_are": "exact"', "", "counts are null"),
        ("run.json", b'"allow_unjudged": 0.0', b'"allow_unjudged": 2', "", "allow_unjudged: "),
        ("run.json", b'"judge_repeat"', b'"repeat"', "", "judge_repeat: Field required"),
        ("rows.jsonl", b'"judge_repeat":0,', b"", ":1", "provenance.judge_repeat: Field required"),
    ],
)
def test_anything_else_is_an_error_with_file_and_line(
    written: Path, name: str, old: bytes, new: bytes, where: str, found: str
) -> None:
    assert old in (written / name).read_bytes()
    edit(written / name, lambda content: content.replace(old, new, 1))
    with pytest.raises(RunError) as caught:
        load_run(written)
    assert caught.value.where == f"{written / name}{where}"
    assert found in caught.value.found


def test_a_row_with_another_text_of_its_window_is_refused(
    run_dir: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    writer = RunWriter(run_dir)
    writer.start(make_info())
    writer.add_window(make_window())
    writer.add_row(make_row(window=make_window(text="other words")))
    writer.close()
    with pytest.raises(RunError, match="a window with another text as w0001"):
        load_run(run_dir)


def test_an_error_shows_no_control_characters_of_the_file(written: Path) -> None:
    edit(
        written / "rows.jsonl",
        lambda content: content.replace(b'"premise"', b'"\\u001b[2J"', 1),
    )
    with pytest.raises(RunError) as caught:
        load_run(written)
    assert "\x1b" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_an_error(written: Path) -> None:
    (written / "rows.jsonl").chmod(0)
    with pytest.raises(RunError, match="Permission denied"):
        load_run(written)

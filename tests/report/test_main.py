import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.report.__main__ import main
from evals.report.queue_file import QUEUE_FILE, write_queue
from evals.runs.gates import GateResult
from evals.runs.record import RunInfo, RunWriter
from evals.runs.summary import summarize
from tests.report.window_rows import coverage_row, fact_of, told_rows, told_window

MakeRow = Callable[..., ConclusionRow]
MakeWindow = Callable[..., Window]
MakeInfo = Callable[..., RunInfo]


@pytest.fixture
def run_dir(
    tmp_path: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> Path:
    """One sound and one unsound conclusion: a pass rate of 0.5."""
    folder = tmp_path / "20260604-120000-abcd"
    writer = RunWriter(folder)
    writer.start(make_info(complete=False, ended_at=None))
    writer.add_window(make_window())
    rows = [make_row(), make_row("b", ordinal=1, slots=[("TIME", "PRESENT_IN_WINDOW", "x")])]
    for row in rows:
        writer.add_row(row)
    # What run.json says that its gate came to is not what the rows come to.
    stale = GateResult(gate="pass_rate >= 0.4", metric_value=1.0, passed=True, why="as wanted")
    info = make_info(
        selected=2, collected=2, gate_expressions=("pass_rate >= 0.4",), gates=(stale,)
    )
    writer.finish(info, summarize(rows))
    return folder


@pytest.fixture
def rewrite(run_dir: Path, make_info: MakeInfo) -> Callable[..., None]:
    """Replace the run's ``run.json``."""

    def write(**changes: Any) -> None:
        info = make_info(**{"selected": 2, "collected": 2} | changes)
        (run_dir / "run.json").write_text(info.model_dump_json(), encoding="utf-8")

    return write


def test_a_finished_run_is_drawn_again_from_its_rows(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_dir / "summary.json").unlink()
    assert main([str(run_dir)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("pass rate         50.0 % (1/2)")
    assert shown.endswith(f"windows {run_dir}/windows.html\ncases   {run_dir}/cases.html\n")
    assert "ana moved to Porto" in (run_dir / "cases.html").read_text(encoding="utf-8")
    summary = json.loads((run_dir / "summary.json").read_text(encoding="utf-8"))
    assert summary["premise"]["pass_rate"]["value"] == 0.5


def test_drawing_twice_gives_the_same_page(run_dir: Path) -> None:
    main([str(run_dir)])
    first = (run_dir / "cases.html").read_bytes()
    main([str(run_dir)])
    assert (run_dir / "cases.html").read_bytes() == first


@pytest.mark.parametrize(
    ("gate", "code"),
    [("pass_rate >= 0.5", 0), ("pass_rate >= 0.8", 10), ("mean_molecular > 0.1", 0)],
)
def test_a_finished_run_is_gated_again(
    run_dir: Path, capsys: pytest.CaptureFixture[str], gate: str, code: int
) -> None:
    assert main([str(run_dir), "--gate", gate]) == code
    outcome = "FELL SHORT" if code else "passed"
    assert f"gate {gate}: {outcome}" in " ".join(capsys.readouterr().out.split())
    assert main([str(run_dir), "--gate", "pass_rate >= 0", "--gate", gate]) == code


@pytest.mark.parametrize(
    ("gate", "code"), [("pass_rate >= 0.5", 0), ("pass_rate >= 0.8", 10), ("pass_rate < 0.5", 10)]
)
def test_without_a_gate_the_runs_own_are_checked_against_its_rows(
    run_dir: Path,
    rewrite: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    gate: str,
    code: int,
) -> None:
    for passed in (True, False):
        said = GateResult(gate=gate, metric_value=1.0, passed=passed, why="as stored")
        rewrite(gate_expressions=(gate,), gates=(said,))
        assert main([str(run_dir)]) == code
        shown = " ".join(capsys.readouterr().out.split())
        assert f"gate {gate}: {'FELL SHORT' if code else 'passed'}, pass_rate is 0.5" in shown
        assert "as stored" not in shown


def test_a_gate_on_the_command_line_takes_the_place_of_the_runs_own(
    run_dir: Path, rewrite: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(gate_expressions=("pass_rate >= 0.9",))
    assert main([str(run_dir), "--gate", "pass_rate >= 0.1"]) == 0
    gates = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gate ")]
    assert gates == ["gate pass_rate >= 0.1: passed, pass_rate is 0.5, as wanted"]


def test_a_stored_gate_that_this_version_does_not_know_is_an_error(
    run_dir: Path, rewrite: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(gate_expressions=("charm >= 0.5",))
    assert main([str(run_dir)]) == 1
    assert "the metric charm" in capsys.readouterr().err
    assert not (run_dir / "cases.html").exists()


def test_a_complete_run_that_lost_rows_is_not_gated(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (run_dir / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (run_dir / "rows.jsonl").write_bytes(rows[0])  # the sound one: the gate would pass
    assert main([str(run_dir), "--gate", "pass_rate >= 0.9"]) == 1
    assert "found 1 whole rows; wanted 2" in capsys.readouterr().err


def test_a_misspelt_gate_is_a_usage_error_and_writes_nothing(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run_dir), "--gate", "pass_rat >= 0.5"]) == 4
    assert "Did you mean pass_rate?" in capsys.readouterr().err
    assert not (run_dir / "cases.html").exists()


def test_a_folder_without_a_run_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 1
    assert "run.json" in capsys.readouterr().err


def test_a_killed_run_is_drawn_and_called_incomplete(
    run_dir: Path, rewrite: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(complete=False, ended_at=None, selected=9)
    with (run_dir / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"kind": "conclu')
    assert main([str(run_dir)]) == 1
    shown, complaint = capsys.readouterr()
    assert "did not come to its end" in complaint
    assert shown.startswith("The last 1 row was cut and left out.")
    assert "INCOMPLETE RUN" in shown
    assert "INCOMPLETE RUN" in (run_dir / "cases.html").read_text(encoding="utf-8")


def test_gates_of_an_incomplete_run_never_pass(
    run_dir: Path, rewrite: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(complete=False, ended_at=None, gate_expressions=("pass_rate >= 0",))
    for arguments in ([], ["--gate", "pass_rate >= 0"], ["--gate", "pass_rate >= 1"]):
        assert main([str(run_dir), *arguments]) == 1
        assert "did not come to its end" in capsys.readouterr().err


def test_the_report_of_the_run_is_named_where_it_is_there(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_dir / "report.html").write_text("made by pytest-html", encoding="utf-8")
    main([str(run_dir)])
    assert capsys.readouterr().out.endswith(f"report  {run_dir}/report.html\n")
    assert (run_dir / "report.html").read_text(encoding="utf-8") == "made by pytest-html"


@pytest.fixture
def whole_run(tmp_path: Path, make_info: MakeInfo) -> Path:
    """A run of all three instruments over one window."""
    folder = tmp_path / "20260604-120000-abcd"
    window = told_window()
    rows = told_rows(window)
    info = make_info(selected=len(rows), collected=len(rows))
    writer = RunWriter(folder)
    writer.start(make_info(complete=False, ended_at=None))
    writer.add_window(window)
    for row in rows:
        writer.add_row(row)
    writer.finish(info, summarize(rows))
    return folder


def test_windows_and_the_labelling_queue_are_written_anew(
    whole_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(whole_run)]) == 0
    assert "ana plays chess" in (whole_run / "windows.html").read_text(encoding="utf-8")
    queue = whole_run / "labelling_queue.jsonl"
    [item] = [json.loads(line) for line in queue.read_text(encoding="utf-8").splitlines()]
    assert (item["question_id"], item["written_answer"]) == ("q2", "Lisbon")
    assert [one["text"] for one in item["conclusions"]] == ["ana lives in Porto"]
    assert queue.stat().st_mode & 0o777 == 0o600
    assert "coverage explicit 75.0 %" in capsys.readouterr().out


@pytest.mark.parametrize(("gate", "code"), [("0.7", 0), ("0.8", 10)])
def test_a_finished_run_is_gated_on_its_coverage(whole_run: Path, gate: str, code: int) -> None:
    assert main([str(whole_run), "--gate", f"coverage_explicit >= {gate}"]) == code


def test_without_coverage_there_is_no_queue_and_without_wrong_answers_an_empty_one(
    run_dir: Path, tmp_path: Path
) -> None:
    main([str(run_dir)])
    assert not (run_dir / QUEUE_FILE).exists()
    (tmp_path / QUEUE_FILE).write_text("stale", encoding="utf-8")
    window = told_window()
    assert write_queue(tmp_path, [coverage_row(window, fact_of())], {"w1": window})
    assert (tmp_path / QUEUE_FILE).read_bytes() == b""

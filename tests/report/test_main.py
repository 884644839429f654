import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.report.__main__ import main
from evals.runs.record import RunInfo, RunWriter
from evals.runs.summary import summarize

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
    writer.finish(make_info(selected=2, collected=2), summarize(rows))
    return folder


def test_a_finished_run_is_drawn_again_from_its_rows(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_dir / "summary.json").unlink()
    assert main([str(run_dir)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("pass rate         50.0 % (1/2)")
    assert shown.endswith(f"cases   {run_dir}/cases.html\n")
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
    run_dir: Path, make_info: MakeInfo, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = make_info(complete=False, ended_at=None, selected=9)
    (run_dir / "run.json").write_text(killed.model_dump_json(), encoding="utf-8")
    with (run_dir / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"kind": "conclu')
    assert main([str(run_dir)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("The last 1 row was cut and left out.")
    assert "INCOMPLETE RUN" in shown
    assert "INCOMPLETE RUN" in (run_dir / "cases.html").read_text(encoding="utf-8")


def test_gates_of_an_incomplete_run_never_pass(
    run_dir: Path, make_info: MakeInfo, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = make_info(complete=False, ended_at=None)
    (run_dir / "run.json").write_text(killed.model_dump_json(), encoding="utf-8")
    assert main([str(run_dir), "--gate", "pass_rate >= 0"]) == 1
    assert "did not come to its end" in capsys.readouterr().err


def test_the_report_of_the_run_is_named_where_it_is_there(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_dir / "report.html").write_text("made by pytest-html", encoding="utf-8")
    main([str(run_dir)])
    assert capsys.readouterr().out.endswith(f"report  {run_dir}/report.html\n")
    assert (run_dir / "report.html").read_text(encoding="utf-8") == "made by pytest-html"

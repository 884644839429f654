from collections.abc import Callable
from pathlib import Path

import pytest

from evals.premise.row import ConclusionRow
from evals.records import Unjudged
from evals.report.terminal import ReportPaths, paths_in, summary_lines
from evals.report.text import columns
from evals.runs.gates import GateResult
from evals.runs.record import RunInfo
from evals.runs.summary import summarize

MakeRow = Callable[..., ConclusionRow]
MakeInfo = Callable[..., RunInfo]
PATHS = ReportPaths(Path("reports/r"), Path("reports/r/report.html"), Path("reports/r/cases.html"))


def mixed(make_row: MakeRow) -> list[ConclusionRow]:
    return [
        make_row(labels=["kept joke"]),
        make_row(
            slots=[("TIME", "PRESENT_IN_WINDOW", "x")],
            time_status="UNANCHORED",
            labels=[f"結論のラベル{number}" * 9 for number in range(7)],
        ),
        make_row(unjudged=Unjudged(reason="timeout", detail="late")),
    ]


def test_the_headline_comes_first_and_the_report_last(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    lines = summary_lines(make_info(), summarize(mixed(make_row)), PATHS)
    assert " ".join(lines[0].split()) == "pass rate 50.0 % (1/2), 95 % 9.5–90.5 %, 1 unjudged"  # noqa: RUF001
    assert lines[-1] == "report  reports/r/report.html"


def test_every_finding_is_there(make_info: MakeInfo, make_row: MakeRow) -> None:
    text = "\n".join(summary_lines(make_info(), summarize(mixed(make_row)), PATHS))
    for wanted in (
        "\nunjudged          33.3 % (1/3), 95 % 6.1–79.2 %\n",  # noqa: RUF001
        "\n  verdict         timeout 1\n",
        "By conclusion, 1 failed: PRESENT_IN_WINDOW only 1.",
        "  PRESENT_IN_WINDOW        1  ████████████████████████",
        "  ABSENT_EVERYWHERE        0\n",
        "       1  unknown_slots",
        "       1  UNANCHORED",
        "and 3 more, in the report",
        "Calibrated: all specimens met",
        "live judge: ANTHROPIC_API_KEY is set",
    ):
        assert wanted in text


def test_each_kind_of_missing_answer_has_a_line_where_there_is_any(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    late = Unjudged(reason="timeout", detail="late")
    slots = [("TIME", "ABSENT_FROM_WINDOW", "x")]
    rows = [
        make_row(minimality=None, minimality_unjudged=late),
        make_row(slots=slots, attribution_unjudged=late),
    ]
    lines = summary_lines(make_info(), summarize(rows), PATHS)
    assert [line for line in lines if "timeout" in line and line.startswith("  ")][:2] == [
        "  minimality      timeout 1",
        "  attribution     timeout 1",
    ]
    assert not any(line.startswith("  verdict") for line in lines)
    assert not any(
        "timeout" in line for line in summary_lines(make_info(), summarize([make_row()]), PATHS)
    )


@pytest.mark.parametrize("width", [40, 72, 80])
def test_no_line_but_a_path_is_wider_than_asked(
    make_info: MakeInfo, make_row: MakeRow, width: int
) -> None:
    gates = (GateResult(gate="pass_rate >= 0.8", metric_value=0.5, passed=False, why="w " * 90),)
    info = make_info(calibrated=False, calibration_why="結論" * 90, gates=gates, complete=False)
    lines = summary_lines(info, summarize(mixed(make_row)), PATHS, width)
    assert max(columns(line) for line in lines[:-3]) <= width


def test_a_path_is_never_cut(make_info: MakeInfo, make_row: MakeRow) -> None:
    deep = Path("/".join(["folder"] * 40))
    paths = ReportPaths(deep, deep / "report.html", None)
    lines = summary_lines(make_info(), summarize([make_row()]), paths)
    assert lines[-2:] == [f"record  {deep}", f"report  {deep}/report.html"]


def test_control_characters_do_not_reach_the_terminal(
    make_info: MakeInfo, make_row: MakeRow, hostile: str
) -> None:
    gates = (GateResult(gate=hostile, metric_value=0.5, passed=False, why=hostile),)
    info = make_info(judge_mode_why=hostile, calibration_why=hostile, gates=gates)
    rows = [make_row(hostile, labels=[hostile])]
    paths = ReportPaths(Path(f"r/{hostile[:50]}"), None, None)
    lines = summary_lines(info, summarize(rows), paths)
    assert not {char for line in lines for char in line} & set("\x1b\x07\n\r\u202e\u2028")


def test_gates_and_an_incomplete_run_are_stated(make_info: MakeInfo, make_row: MakeRow) -> None:
    gates = (
        GateResult(gate="pass_rate >= 0.8", metric_value=1.0, passed=True, why="as wanted"),
        GateResult(gate="pass_rate < 1", metric_value=1.0, passed=False, why="falls short"),
    )
    info = make_info(gates=gates, complete=False, ended_at=None)
    text = "\n".join(summary_lines(info, summarize([make_row()]), PATHS))
    assert "INCOMPLETE RUN" in text
    assert "gate pass_rate >= 0.8: passed, as wanted" in text
    assert "gate pass_rate < 1: FELL SHORT, falls short" in text


def test_a_run_without_rows_has_no_figures(make_info: MakeInfo) -> None:
    lines = summary_lines(make_info(), summarize([]), PATHS)
    assert lines[0] == "No conclusion was judged in this run, so there are no figures."
    assert not any("%" in line for line in lines)


def test_only_pages_that_are_there_are_named(tmp_path: Path) -> None:
    assert paths_in(tmp_path) == ReportPaths(tmp_path, None, None)
    (tmp_path / "cases.html").touch()
    assert paths_in(tmp_path) == ReportPaths(tmp_path, None, tmp_path / "cases.html")

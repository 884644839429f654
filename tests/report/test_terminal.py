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
from tests.report.conftest import info_of
from tests.report.window_rows import (
    LATE,
    batch_row,
    coverage_row,
    fact_of,
    told_rows,
    told_window,
    unjudged_batch,
    unjudged_coverage,
    verdict_rows,
)

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
    (tmp_path / "windows.html").touch()
    lines = summary_lines(info_of(), summarize([]), paths_in(tmp_path))
    assert lines[-2:] == [f"windows {tmp_path}/windows.html", f"cases   {tmp_path}/cases.html"]


def test_the_three_headline_figures_come_first_and_together(make_info: MakeInfo) -> None:
    lines = summary_lines(make_info(), summarize(told_rows(told_window())), PATHS)
    assert lines[:5] == [
        "pass rate         33.3 % (1/3), 95 % 6.1–79.2 %, 1 unjudged",  # noqa: RUF001
        "coverage explicit 75.0 % (weight 7.5 of 10, 5 facts), 0 unjudged",
        "quality×coverage  between 60.0 % and 65.0 % (1 fact unknown), 5 facts,",  # noqa: RUF001
        "                  0 unjudged",
        "unjudged          25.0 % (1/4), 95 % 4.6–69.9 %",  # noqa: RUF001
    ]


def test_the_composite_is_one_figure_where_no_verdict_is_missing(make_info: MakeInfo) -> None:
    window = told_window()
    _, *others = told_rows(window)[3:]
    rows = [*verdict_rows(window, "+--+"), *others]
    text = "\n".join(summary_lines(make_info(), summarize(rows), PATHS))
    assert "\nquality×coverage  65.0 % (weight 6.5 of 10, 5 facts), 0 unjudged\n" in text  # noqa: RUF001
    assert "between" not in text


def test_every_figure_of_the_other_instruments_is_there(make_info: MakeInfo) -> None:
    text = "\n".join(summary_lines(make_info(), summarize(told_rows(told_window())), PATHS))
    for wanted in (
        "\ncoverage implicit 0.0 % (weight 0 of 2, 1 fact), 0 unjudged\n",
        "\n  CRITICAL        100.0 % (weight 4 of 4, 1 fact), 0 unjudged\n",
        "\n  IMPORTANT       50.0 % (weight 2 of 4, 2 facts), 0 unjudged\n",
        "\nTRIVIAL skipped   100.0 % (1/1), ",
        "\n0 relative-time facts in the gold; 1 refused for it.\n",
        "2 gold facts refused by the harness (no_inference 1, relative_time 1).",
        "\nQA correct        33.3 % (1/3), ",
        "\nQA wrong          33.3 % (1/3), ",
        "\nQA unanswerable   33.3 % (1/3), ",
        "\nunjudged answering: timeout 1\n",
        "\nFLAG window w1: Topic 'home' has 3 of 4 conclusions, over 60%,",
        "\n3 covered facts, implicit and trivial ones included: 1 kept, 1 lost, 1 unknown.\n",
        "\nredundancy        25.0 % (1/4), ",
        "\n  by strings      50.0 % (2/4), ",
        "\ncontradictions    1.00 (n 1), 0 unjudged\n",
        "Redundancy groups: 1 of 2 conclusions.",
        "Issues by severity: HIGH 1, MEDIUM 1.",
    ):
        assert wanted in text


def test_what_no_rate_counts_and_every_flag_beyond_the_first_are_said(make_info: MakeInfo) -> None:
    rows = [row for n in range(7) for row in told_rows(told_window(window_id=f"w{n}"))]
    rows.append(coverage_row(told_window(window_id="w8"), questions=None, questions_unjudged=LATE))
    rows.append(unjudged_coverage(told_window(window_id="w9")))
    text = "\n".join(summary_lines(make_info(), summarize(rows), PATHS))
    flat = " ".join(text.split())
    assert "2 windows without questions, question generation unjudged: in no QA rate." in flat
    assert "1 window without gold: not in it." in flat
    assert text.count("FLAG window") == 5
    assert "7 topic flags in 7 windows: see the report." in flat


def test_an_instrument_that_did_not_run_has_one_line(make_info: MakeInfo) -> None:
    window = told_window()
    for rows, silent in (
        (verdict_rows(window, "+"), ["coverage explicit", "quality×coverage", "set-level"]),  # noqa: RUF001
        ([coverage_row(window, fact_of())], ["pass rate", "quality×coverage", "set-level"]),  # noqa: RUF001
        ([batch_row(window)], ["pass rate", "coverage explicit", "quality×coverage"]),  # noqa: RUF001
    ):
        lines = summary_lines(make_info(), summarize(rows), PATHS)
        assert [line[:17].rstrip() for line in lines if "not run" in line] == silent
    only_batch = "\n".join(lines)
    for absent in ("QA", "TRIVIAL", "decontextuality", "relative-time", "lost"):
        assert absent not in only_batch


def test_what_nobody_judged_is_a_dash_with_its_reason(make_info: MakeInfo) -> None:
    window = told_window()
    rows = [*verdict_rows(window, "?"), unjudged_coverage(window), unjudged_batch(window)]
    lines = summary_lines(make_info(), summarize(rows), PATHS)
    dashes = [line[:17].rstrip() for line in lines if line[17:20] == " – "]  # noqa: RUF001
    assert dashes == [
        "pass rate", "coverage explicit", "quality×coverage", "decontextuality",  # noqa: RUF001
        "minimality", "molecular", "coverage implicit", "TRIVIAL skipped", "QA correct", "QA wrong",
        "QA unanswerable", "redundancy", "contradictions",
    ]  # fmt: skip
    assert lines[1] == "coverage explicit – (0 facts), 0 unjudged, 1 window without gold"  # noqa: RUF001
    assert "unjudged gold: timeout 1" in lines
    assert "unjudged batches: timeout 1" in lines


@pytest.mark.parametrize("width", [40, 64, 80])
def test_figures_of_windows_are_wrapped_and_never_cut(make_info: MakeInfo, width: int) -> None:
    windows = [told_window(window_id=f"w{number}") for number in range(3)]
    rows = [row for window in windows for row in told_rows(window)]
    rows.append(unjudged_coverage(told_window(window_id="w9")))
    lines = summary_lines(make_info(), summarize(rows), PATHS, width)
    assert max(columns(line) for line in lines[:-3]) <= width
    text = " ".join(" ".join(lines).split())
    assert "75.0 % (weight 22.5 of 30, 15 facts), 95 % 75.0–75.0 %, 0 unjudged, 1 window" in text  # noqa: RUF001


def test_control_characters_of_topics_do_not_reach_the_terminal(
    make_info: MakeInfo, hostile: str
) -> None:
    window = told_window(hostile)
    [name] = [one.conclusion_id for one in window.conclusions]
    facts = [fact_of(f"g{n}", topic=f"{hostile}{n}", category=hostile) for n in range(4)]
    row = coverage_row(window, *facts, conclusion_topics={name: hostile})
    lines = summary_lines(make_info(), summarize([row]), PATHS)
    assert any(line.startswith("FLAG") for line in lines)
    assert not {char for line in lines for char in line} & set("\x1b\x07\n\r\u202e\u2028")

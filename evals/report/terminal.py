"""The section that a run ends with in the terminal: headline first, where the report is last."""

from pathlib import Path
from typing import NamedTuple

from evals.report import reading
from evals.report.cost import cost_text, ran_out_line
from evals.report.links import CASES_PAGE, REPORT_PAGE, WINDOWS_PAGE
from evals.report.terminal_instruments import instrument_lines
from evals.report.terminal_text import wrapped
from evals.runs.record import RunInfo
from evals.runs.summary import RunSummary
from evals.untrusted import for_terminal

WIDTH = 80


class ReportPaths(NamedTuple):
    """Where the run's pages and record are; None for a page that was not written."""

    run_dir: Path
    report_html: Path | None
    cases_html: Path | None
    windows_html: Path | None = None


def paths_in(run_dir: Path) -> ReportPaths:
    """Return the paths of a run's folder, each page only where its file is there."""
    pages = (run_dir / name for name in (REPORT_PAGE, CASES_PAGE, WINDOWS_PAGE))
    return ReportPaths(run_dir, *(page if page.is_file() else None for page in pages))


def summary_lines(
    info: RunInfo, summary: RunSummary, paths: ReportPaths, width: int = WIDTH
) -> list[str]:
    """Return the end-of-run section.

    Args:
        info: the run.
        summary: its metrics.
        paths: named as given; a path is never cut or wrapped, so that it can be copied.
        width: columns that every line but a path keeps to, 40 or more.

    Returns:
        Lines without control characters and without line breaks.
    """
    lines = instrument_lines(summary, width)
    lines += _state_lines(info, summary, width)
    return lines + _path_lines(paths)


def _state_lines(info: RunInfo, summary: RunSummary, width: int) -> list[str]:
    lines = [""]
    incomplete = reading.incomplete_line(info)
    if incomplete:
        lines += wrapped(incomplete, width)
    lines += wrapped(ran_out_line(info) or "", width)
    lines += wrapped(info.judge_mode_why, width)
    lines += wrapped(f"cost: {cost_text(info)}", width)
    lines += wrapped(reading.calibration_line(info), width)
    for line in reading.input_quality(info, summary.premise):
        lines += wrapped(line, width)
    for gate in info.gates:
        outcome = "passed" if gate.passed else "FELL SHORT"
        lines += wrapped(f"gate {gate.gate}: {outcome}, {gate.why}", width)
    return lines


def _path_lines(paths: ReportPaths) -> list[str]:
    named = [
        ("record", paths.run_dir),
        ("windows", paths.windows_html),
        ("cases", paths.cases_html),
        ("report", paths.report_html),
    ]
    return ["", *(f"{name:<7} {_printable(path)}" for name, path in named if path is not None)]


def _printable(path: Path) -> str:
    # Not for_terminal's cut: a path with its end missing is of no use.
    return for_terminal(str(path), limit=len(str(path)) + 1)

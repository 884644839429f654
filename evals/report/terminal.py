"""The section that a run ends with in the terminal: headline first, where the report is last."""

import textwrap
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from evals.premise.metrics import PremiseSummary
from evals.report import numbers, reading
from evals.report.rows import CASES_PAGE, REPORT_PAGE
from evals.report.text import columns, cut
from evals.runs.record import RunInfo
from evals.runs.summary import RunSummary
from evals.untrusted import for_terminal

WIDTH = 80
TOP = 5
"""Labels and failed conditions shown; the report has them all."""
_NAME_COLUMNS = 17
_BAR_COLUMNS = 24


class ReportPaths(NamedTuple):
    """Where the run's pages and record are; None for a page that was not written."""

    run_dir: Path
    report_html: Path | None
    cases_html: Path | None


def paths_in(run_dir: Path) -> ReportPaths:
    """Return the paths of a run's folder, each page only where its file is there."""
    report, cases = run_dir / REPORT_PAGE, run_dir / CASES_PAGE
    return ReportPaths(
        run_dir, report if report.is_file() else None, cases if cases.is_file() else None
    )


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
    lines = _premise_lines(summary.premise, width) if summary.premise else _nothing(width)
    lines += _state_lines(info, summary, width)
    return lines + _path_lines(paths)


def _premise_lines(summary: PremiseSummary, width: int) -> list[str]:
    judged = summary.pass_rate
    lines = [
        _named("pass rate", numbers.rate_text(judged), width),
        _named(
            "unjudged", numbers.rate_text(summary.unjudged_share, is_unjudged_share=True), width
        ),
        *(_named(f"  {name}", text, width) for name, text in reading.unjudged_parts(summary)),
        _named("decontextuality", numbers.mean_text(summary.mean_decontextuality), width),
        _named("minimality", numbers.mean_text(summary.mean_minimality), width),
        _named("molecular", numbers.mean_text(summary.mean_molecular), width),
        "",
        *_attribution_lines(summary, width),
    ]
    for title, histogram in (
        ("failed conditions", summary.failed_condition_histogram),
        ("time status", summary.time_status_histogram),
        ("labels", summary.label_histogram),
    ):
        lines += _histogram_lines(title, histogram.counts, width)
    return lines


def _attribution_lines(summary: PremiseSummary, width: int) -> list[str]:
    counts = Counter(summary.failure_attribution_split.counts)
    slots = counts.total()
    lines = ["what to fix next"]
    for name in reading.ATTRIBUTION_MEANING:
        number = counts[name]
        bar = "█" * (round(_BAR_COLUMNS * number / slots) if slots else 0)
        lines.append(_line(f"  {name:<19} {numbers.count(number):>6}  ", bar, width).rstrip())
    by_conclusion = reading.attribution_by_conclusion(summary)
    said = [reading.attribution_reading(summary), *([by_conclusion] if by_conclusion else [])]
    for text in (*said, *reading.attribution_limits(summary)):
        lines += _wrapped(text, width, indent="  ")
    return lines


def _histogram_lines(title: str, counts: dict[str, int], width: int) -> list[str]:
    if not counts:
        return []
    shown = list(counts.items())[:TOP]
    lines = ["", title]
    lines += [_line(f"  {numbers.count(number):>6}  ", name, width) for name, number in shown]
    if len(counts) > TOP:
        lines.append(f"          and {numbers.count(len(counts) - TOP)} more, in the report")
    return lines


def _state_lines(info: RunInfo, summary: RunSummary, width: int) -> list[str]:
    lines = [""]
    incomplete = reading.incomplete_line(info)
    if incomplete:
        lines += _wrapped(incomplete, width)
    lines += _wrapped(info.judge_mode_why, width)
    lines += _wrapped(reading.calibration_line(info), width)
    for line in reading.input_quality(info, summary.premise):
        lines += _wrapped(line, width)
    for gate in info.gates:
        outcome = "passed" if gate.passed else "FELL SHORT"
        lines += _wrapped(f"gate {gate.gate}: {outcome}, {gate.why}", width)
    return lines


def _path_lines(paths: ReportPaths) -> list[str]:
    named = [("record", paths.run_dir), ("cases", paths.cases_html), ("report", paths.report_html)]
    return ["", *(f"{name:<7} {_printable(path)}" for name, path in named if path is not None)]


def _printable(path: Path) -> str:
    # Not for_terminal's cut: a path with its end missing is of no use.
    return for_terminal(str(path), limit=len(str(path)) + 1)


def _nothing(width: int) -> list[str]:
    return _wrapped("No conclusion was judged in this run, so there are no figures.", width)


def _named(name: str, text: str, width: int) -> str:
    return _line(f"{name:<{_NAME_COLUMNS}} ", text, width)


def _line(start: str, text: str, width: int) -> str:
    """Return ``start``, which is ours and keeps its spacing, and as much of ``text`` as fits."""
    return start + cut(text, width - columns(start))


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    safe = for_terminal(text, limit=len(text) + 1)
    lines = textwrap.wrap(safe, width, initial_indent=indent, subsequent_indent=indent)
    # Wrapping counts characters, so a line of wide ones can still be too wide.
    return [indent + cut(line.removeprefix(indent), width - len(indent)) for line in lines]

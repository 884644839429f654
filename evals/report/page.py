"""What stands above pytest-html's table: the first screen of ``report.html``."""

from markupsafe import Markup

from evals.report import numbers, reading
from evals.report.coverage_reading import BOTH_NEEDED
from evals.report.links import CASES_PAGE, WINDOWS_PAGE
from evals.report.rows import filter_css
from evals.report.sections.composite import composite_values
from evals.report.sections.coverage import coverage_values
from evals.report.sections.premise import premise_values
from evals.report.sections.run import imports, provenance, skipped, token_lines, tokens_of
from evals.report.sections.set_level import set_level_values
from evals.report.sections.trio import both_ran, trio
from evals.report.templates import own_text, render
from evals.runs.record import RunInfo
from evals.runs.summary import RunSummary


def headline_html(info: RunInfo, summary: RunSummary) -> str:
    """Return the first screen of ``report.html``, self-contained, with its own style.

    Answers what to fix next: banners (incomplete, not calibrated, gates), pass rate, coverage and
    the composite side by side, then a section an instrument, then provenance and tokens.
    ``pytest_html_results_summary`` takes it as one element of ``prefix``.
    """
    premise, coverage, set_level = summary.premise, summary.coverage, summary.set_level
    composite = summary.composite if both_ran(summary) else None
    return render(
        "headline/headline.html.j2",
        {
            "css": own_text("headline/headline.css"),
            "filter_css": Markup(filter_css()),  # noqa: S704  fixed rules, no text of a trace
            "info": info,
            "incomplete": reading.incomplete_line(info),
            "calibration": reading.calibration_line(info),
            "recorded": info.judge_mode_why if info.judge_mode == "recorded" else None,
            "gates": [(gate, numbers.metric_value(gate.metric_value)) for gate in info.gates],
            "gates_short": sum(not gate.passed for gate in info.gates),
            "trio": trio(summary),
            "both_needed": BOTH_NEEDED,
            "premise": None if premise is None else premise_values(premise),
            "coverage": None if coverage is None else coverage_values(coverage),
            "set_level": None if set_level is None else set_level_values(set_level),
            "composite": None if composite is None else composite_values(composite),
            "cases_page": CASES_PAGE,
            "windows_page": WINDOWS_PAGE,
            "input_quality": reading.input_quality(info, premise),
            "imports": imports(info),
            "skipped": skipped(info),
            "provenance": provenance(info),
            "tokens": _tokens(summary),
        },
    )


def _tokens(summary: RunSummary) -> list[tuple[str, str]]:
    tokens = tokens_of(summary)
    if tokens is None:
        return []
    lines = token_lines(tokens)
    if summary.premise is not None:
        words = numbers.rate_text(summary.premise.token_range_rate)
        lines.append(("8 to 25 words", f"{words} (diagnostic only)"))
    return lines

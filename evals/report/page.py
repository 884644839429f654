"""What stands above pytest-html's table: the first screen of ``report.html``."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from evals.metrics import Mean, Rate
from evals.premise.metrics import PremiseSummary
from evals.report import charts, numbers, reading
from evals.report.rows import CASES_PAGE, filter_css
from evals.report.templates import own_text, render
from evals.runs.record import RunInfo
from evals.runs.summary import RunSummary

SKIPPED_SHOWN = 50
"""Skipped records listed one by one; the rest are counted."""


@dataclass(frozen=True)
class Figure:
    """One headline number and what it rests on."""

    name: str
    value: str
    basis: list[str]
    """In parts, each of which stays on one line."""
    meaning: str


@dataclass(frozen=True)
class Chart:
    """One chart of the second screen, with a line on how to read it."""

    title: str
    svg: Markup
    note: str


def headline_html(info: RunInfo, summary: RunSummary) -> str:
    """Return the first screen of ``report.html``, self-contained, with its own style.

    Answers what to fix next: banners (incomplete, not calibrated, gates), the headline figures
    with their intervals, the attribution split with its reading, histograms, provenance.
    ``pytest_html_results_summary`` takes it as one element of ``prefix``.
    """
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
            "premise": None if summary.premise is None else _premise_values(summary.premise),
            "cases_page": CASES_PAGE,
            "input_quality": reading.input_quality(info, summary.premise),
            "imports": _imports(info),
            "skipped": _skipped(info),
            "provenance": provenance(info),
        },
    )


def _premise_values(summary: PremiseSummary) -> dict[str, object]:
    judged = summary.pass_rate.n
    return {
        "figures": _figures(summary),
        "attribution": charts.attribution_chart(summary),
        "reading": reading.attribution_reading(summary),
        "meanings": [
            (name, text, cases_link(attribution=name))
            for name, text in reading.ATTRIBUTION_MEANING.items()
        ],
        "limits": reading.attribution_limits(summary),
        "unsound": numbers.counted(judged - summary.pass_rate.hits, "unsound conclusion"),
        "unsound_link": cases_link(verdict="unsound"),
        "by_conclusion": reading.attribution_by_conclusion(summary),
        "unjudged": reading.unjudged_parts(summary),
        "unjudged_link": cases_link(verdict="unjudged"),
        "charts": _charts(summary),
        "tokens": _tokens(summary),
    }


def _figures(summary: PremiseSummary) -> list[Figure]:
    return [
        _rate("Pass rate", summary.pass_rate, "usable without the source, and licensed by it"),
        _mean("Decontextuality", summary.mean_decontextuality, "meaning that survives alone, of 1"),
        _mean("Minimality", summary.mean_minimality, "one claim and nothing more, of 1"),
        _mean(
            "Molecular score", summary.mean_molecular, "root of decontextuality times minimality"
        ),
        Figure(
            "Unjudged",
            numbers.rate_value(summary.unjudged_share),
            numbers.rate_parts(summary.unjudged_share, is_unjudged_share=True),
            "no verdict: never a pass, never a fail",
        ),
    ]


def _rate(name: str, rate: Rate, meaning: str) -> Figure:
    return Figure(name, numbers.rate_value(rate), numbers.rate_parts(rate), meaning)


def _mean(name: str, mean: Mean, meaning: str) -> Figure:
    return Figure(name, numbers.mean_value(mean), numbers.mean_parts(mean), meaning)


def _charts(summary: PremiseSummary) -> list[Chart]:
    labels = len(summary.label_histogram.counts)
    unsound = numbers.counted(summary.failed_condition_histogram.n, "unsound conclusion")
    beyond = max(0, labels - charts.TOP_LABELS)
    return [
        Chart(
            "Failed conditions",
            charts.failed_condition_chart(summary),
            f"Share of {unsound}; one can fail several.",
        ),
        Chart(
            "Time status",
            charts.time_status_chart(summary),
            "Green passes; amber is the timestamp's fault and passes; red fails. "
            f"{numbers.count(summary.time_status_histogram.unjudged)} unjudged.",
        ),
        Chart(
            "Labels",
            charts.label_chart(summary),
            f"Free text, exact matches. {numbers.counted(beyond, 'more label')} not shown.",
        ),
        Chart(
            "Unsupported elements",
            charts.unsupported_kind_chart(summary),
            f"Over {numbers.counted(summary.unsupported_kind_histogram.n, 'judged conclusion')}.",
        ),
        Chart(
            "Bundled against minimality",
            charts.bundled_chart(summary),
            f"Bundled: {numbers.rate_text(summary.bundled_rate)}. "
            + " ".join(
                f"At most one claim where {'' if cell.bundled else 'not '}bundled: "
                f"{numbers.rate_text(cell.single_claim)}."
                for cell in summary.bundled_by_minimality
            ),
        ),
    ]


def _tokens(summary: PremiseSummary) -> list[tuple[str, str]]:
    tokens = summary.tokens
    read, written = (
        numbers.count(number) for number in (tokens.cache_read_tokens, tokens.cache_write_tokens)
    )
    without = numbers.counted(tokens.calls_without_usage, "answer")
    return [
        ("Judge answers", numbers.count(tokens.calls)),
        ("By prompt", numbers.counts_text(tokens.calls_by_purpose)),
        ("By source", numbers.counts_text(tokens.calls_by_source)),
        ("Input tokens", f"{numbers.count(tokens.input_tokens)} read in full"),
        ("Cached tokens", f"{read} read from cache, {written} written to it"),
        ("Output tokens", numbers.count(tokens.output_tokens)),
        ("In no total", f"{without} without a token count"),
        ("8 to 25 words", f"{numbers.rate_text(summary.token_range_rate)} (diagnostic only)"),
    ]


def provenance(info: RunInfo) -> list[tuple[str, str]]:
    """Return name and value of what produced the run (4.2), for a table."""
    sent = numbers.counted(info.calls_sent, "call")
    attempts = numbers.counted(info.http_attempts, "HTTP attempt")
    ran = numbers.NOTHING
    if info.ended_at is not None:
        ran = numbers.duration(info.ended_at - info.started_at)
    return [
        ("Run", info.run_id),
        ("Started", numbers.moment(info.started_at)),
        ("Duration", ran),
        ("Judge model", info.judge_model),
        ("Models that answered", ", ".join(info.models_served) or numbers.NOTHING),
        ("Reasoning", info.reasoning),
        ("Judge repeat", numbers.count(info.judge_repeat)),
        ("Judge mode", info.judge_mode_why),
        ("Sent by this run", f"{sent}, {attempts}"),
        ("Calibration", reading.calibration_line(info)),
        ("Over-inference fails", "yes" if info.over_inference_fails else "no"),
        ("Unjudged allowed", numbers.percent(info.allow_unjudged, 1)),
        ("Bad records", "left out and counted" if info.skip_bad_records else "refused"),
        ("Gates", ", ".join(info.gate_expressions) or "none"),
        ("Bench version", info.bench_version),
        ("Commit", reading.commit_text(info.git_commit, dirty=info.git_dirty)),
        ("Traces", ", ".join(info.trace_paths) or numbers.NOTHING),
        ("Items", f"{numbers.share_of(info.selected, info.collected)} selected"),
        *((f"Prompt {name}", text) for name, text in sorted(info.prompt_hashes.items())),
    ]


def _imports(info: RunInfo) -> list[list[str]]:
    return [
        [
            report.path,
            report.trace_format,
            numbers.count(report.records_read),
            numbers.count(report.windows),
            numbers.count(report.conclusions),
            numbers.counts_text(Counter(record.kind for record in report.skipped)),
        ]
        for report in info.imports
    ]


def _skipped(info: RunInfo) -> dict[str, object]:
    records = [record for report in info.imports for record in report.skipped]
    return {
        "title": numbers.counted(len(records), "skipped record"),
        "records": records[:SKIPPED_SHOWN],
        "beyond": numbers.count(max(0, len(records) - SKIPPED_SHOWN)),
        "any_beyond": len(records) > SKIPPED_SHOWN,
    }


def cases_link(**filters: str) -> str:
    """Return the address of ``cases.html`` with filters set: ``cases.html#?verdict=unsound``."""
    return f"{CASES_PAGE}#?{urlencode(filters)}"

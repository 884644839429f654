"""What produced the run: provenance, tokens and input, over all instruments."""

from collections import Counter

from evals.judging.tokens import TokenTotals
from evals.report import cost, numbers, reading
from evals.report.coverage_reading import policy_text
from evals.runs.record import RunInfo
from evals.runs.summary import RunSummary

SKIPPED_SHOWN = 50
"""Skipped records listed one by one; the rest are counted."""


def provenance(info: RunInfo) -> list[tuple[str, str]]:
    """Return name and value of what produced the run (4.2), for a table."""
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
        ("Sent by this run", cost.sent_text(info)),
        ("Cost of this run", cost.cost_text(info)),
        ("Budget", cost.budget_text(info)),
        ("Calibration", reading.calibration_line(info)),
        ("Over-inference fails", "yes" if info.over_inference_fails else "no"),
        ("Coverage policy", policy_text(info.coverage_policy)),
        ("Unjudged allowed", numbers.percent(info.allow_unjudged, 1)),
        ("Bad records", "left out and counted" if info.skip_bad_records else "refused"),
        ("Gates", ", ".join(info.gate_expressions) or "none"),
        ("Bench version", info.bench_version),
        ("Commit", reading.commit_text(info.git_commit, dirty=info.git_dirty)),
        ("Traces", ", ".join(info.trace_paths) or numbers.NOTHING),
        ("Items", f"{numbers.share_of(info.selected, info.collected)} selected"),
        *((f"Prompt {name}", text) for name, text in sorted(info.prompt_hashes.items())),
    ]


def imports(info: RunInfo) -> list[list[str]]:
    """Return a line of cells a trace: what was read of it."""
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


def skipped(info: RunInfo) -> dict[str, object]:
    """Return the records that were left out."""
    records = [record for report in info.imports for record in report.skipped]
    return {
        "title": numbers.counted(len(records), "skipped record"),
        "records": records[:SKIPPED_SHOWN],
        "beyond": numbers.count(max(0, len(records) - SKIPPED_SHOWN)),
        "any_beyond": len(records) > SKIPPED_SHOWN,
    }


def tokens_of(summary: RunSummary) -> TokenTotals | None:
    """Return the calls and tokens behind all instruments; None where none has a row.

    No two instruments share a request, for their prompts differ: so the totals add up.
    """
    parts = [
        part.tokens
        for part in (summary.premise, summary.set_level, summary.coverage)
        if part is not None
    ]
    return _sum(parts) if parts else None


def _sum(parts: list[TokenTotals]) -> TokenTotals:
    totals: dict[str, object] = {}
    for name in TokenTotals.model_fields:
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], dict):
            totals[name] = dict(sum((Counter(value) for value in values), Counter()))
        else:
            totals[name] = sum(values)
    return TokenTotals.model_validate(totals)


def token_lines(tokens: TokenTotals) -> list[tuple[str, str]]:
    """Return name and value of each total, for a table."""
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
    ]

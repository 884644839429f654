"""What the terminal says of each instrument: the three headline figures first."""

from collections import Counter

from evals.composite import CompositeSummary
from evals.coverage.metrics import CoverageSummary
from evals.premise.metrics import PremiseSummary
from evals.report import coverage_reading, numbers, reading
from evals.report.coverage_reading import NOT_RUN
from evals.report.terminal_text import counts_lines, line, named, named_whole, wrapped
from evals.runs.summary import RunSummary
from evals.set_level.metrics import SetLevelSummary
from evals.untrusted import for_terminal

_BAR_COLUMNS = 24
_MOST_FLAGS = 5
"""Topic flags written out; the report has all of them."""


def instrument_lines(summary: RunSummary, width: int) -> list[str]:
    """Return the figures of the run; one line for an instrument that did not run.

    Args:
        summary: of the run.
        width: columns that every line keeps to.
    """
    premise, coverage, set_level = summary.premise, summary.coverage, summary.set_level
    if premise is None and coverage is None and set_level is None:
        return wrapped("No conclusion was judged in this run, so there are no figures.", width)
    lines = _headline(summary, width)
    if premise is not None:
        lines += _premise_lines(premise, width)
    if coverage is not None:
        lines += ["", *_coverage_lines(coverage, width)]
    if coverage is not None and premise is not None and summary.composite is not None:
        lines += _composite_lines(summary.composite, width)
    if set_level is None:
        return [*lines, "", named("set-level", NOT_RUN, width)]
    return [*lines, "", *_set_level_lines(set_level, width)]


def _headline(summary: RunSummary, width: int) -> list[str]:
    """Return pass rate, coverage and the composite: never one without the others (3.6)."""
    premise, coverage, composite = summary.premise, summary.coverage, summary.composite
    quality = NOT_RUN if premise is None else numbers.rate_text(premise.pass_rate)
    covered = NOT_RUN if coverage is None else numbers.share_text(coverage.coverage_explicit)
    both = f"{NOT_RUN}: it needs both"
    if premise is not None and coverage is not None and composite is not None:
        both = coverage_reading.quality_text(composite)
    return [
        *named_whole("pass rate", quality, width),
        *named_whole("coverage explicit", covered, width),
        *named_whole("quality×coverage", both, width),  # noqa: RUF001  the sign is meant
    ]


def _premise_lines(summary: PremiseSummary, width: int) -> list[str]:
    lines = [
        named("unjudged", numbers.rate_text(summary.unjudged_share, is_unjudged_share=True), width),
        *(named(f"  {name}", text, width) for name, text in reading.unjudged_parts(summary)),
        named("decontextuality", numbers.mean_text(summary.mean_decontextuality), width),
        named("minimality", numbers.mean_text(summary.mean_minimality), width),
        named("molecular", numbers.mean_text(summary.mean_molecular), width),
        "",
        *_attribution_lines(summary, width),
    ]
    for title, histogram in (
        ("failed conditions", summary.failed_condition_histogram),
        ("time status", summary.time_status_histogram),
        ("labels", summary.label_histogram),
    ):
        lines += counts_lines(title, histogram.counts, width)
    return lines


def _attribution_lines(summary: PremiseSummary, width: int) -> list[str]:
    counts = Counter(summary.failure_attribution_split.counts)
    slots = counts.total()
    lines = ["what to fix next"]
    for name in reading.ATTRIBUTION_MEANING:
        number = counts[name]
        bar = "█" * (round(_BAR_COLUMNS * number / slots) if slots else 0)
        lines.append(line(f"  {name:<19} {numbers.count(number):>6}  ", bar, width).rstrip())
    by_conclusion = reading.attribution_by_conclusion(summary)
    said = [reading.attribution_reading(summary), *([by_conclusion] if by_conclusion else [])]
    for text in (*said, *reading.attribution_limits(summary)):
        lines += wrapped(text, width, indent="  ")
    return lines


def _coverage_lines(summary: CoverageSummary, width: int) -> list[str]:
    lines = [
        *named_whole("coverage implicit", numbers.share_text(summary.coverage_implicit), width),
        *(
            part
            for name, share in summary.coverage_by_importance.items()
            if share.n or share.unjudged
            for part in named_whole(f"  {name}", numbers.share_brief(share), width)
        ),
        *named_whole("TRIVIAL skipped", numbers.rate_text(summary.trivial_skipped_rate), width),
        *_said(coverage_reading.without_gold_text(summary), width),
        *wrapped(f"{coverage_reading.relative_time_text(summary)}.", width),
        *wrapped(f"{coverage_reading.gold_text(summary)}.", width),
        *wrapped(f"{coverage_reading.dropped_text(summary)}.", width),
        *named_whole("QA correct", numbers.rate_text(summary.qa_answerable_correct_rate), width),
        *named_whole("QA wrong", numbers.rate_text(summary.qa_answerable_wrong_rate), width),
        *named_whole("QA unanswerable", numbers.rate_text(summary.qa_unanswerable_rate), width),
        *_said(coverage_reading.without_questions_text(summary), width),
    ]
    for step, counts in coverage_reading.unjudged_steps(summary):
        lines += wrapped(f"unjudged {step}: {counts}", width)
    for flag in summary.topic_flags[:_MOST_FLAGS]:
        lines += wrapped(f"FLAG window {for_terminal(flag.window_id, 60)}: {flag.text}", width)
    if len(summary.topic_flags) > _MOST_FLAGS:
        lines += wrapped(f"{coverage_reading.flags_text(summary)}: see the report.", width)
    return lines


def _said(text: str, width: int) -> list[str]:
    return wrapped(f"  {text}.", width) if text else []


def _composite_lines(summary: CompositeSummary, width: int) -> list[str]:
    return wrapped(f"{coverage_reading.kept_text(summary)}.", width)


def _set_level_lines(summary: SetLevelSummary, width: int) -> list[str]:
    lines = [
        *named_whole("redundancy", numbers.rate_text(summary.redundancy_rate), width),
        *named_whole("  by strings", numbers.rate_text(summary.string_redundancy_rate), width),
        *named_whole("contradictions", numbers.mean_text(summary.contradictions_per_window), width),
        *wrapped(f"{coverage_reading.string_check_text(summary)}.", width),
    ]
    sizes = summary.redundancy_groups_by_size.counts
    if sizes:
        by_size = {f"{size} conclusions": sizes[size] for size in sorted(sizes, key=int)}
        named_sizes = ", ".join(f"{numbers.count(n)} of {size}" for size, n in by_size.items())
        lines += wrapped(f"Redundancy groups: {named_sizes}.", width)
    if summary.issues_by_severity.counts:
        severities = numbers.counts_text(summary.issues_by_severity.counts)
        lines += wrapped(f"Issues by severity: {severities}.", width)
    if summary.unjudged_by_reason:
        lines += wrapped(
            f"unjudged batches: {numbers.counts_text(summary.unjudged_by_reason)}", width
        )
    return lines

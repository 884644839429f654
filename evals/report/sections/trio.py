"""Pass rate, coverage and the composite: never one of them without the others (3.6)."""

from evals.report.coverage_reading import (
    BOTH_NEEDED,
    NOT_RUN,
    WHY_COMPOSITE,
    WHY_COVERAGE,
    WHY_QUALITY,
    quality_parts,
    quality_value,
)
from evals.report.sections.parts import Figure, rate_figure, share_figure
from evals.runs.summary import RunSummary


def trio(summary: RunSummary) -> list[Figure]:
    """Return the three cards; empty where the run holds neither quality nor coverage."""
    if summary.premise is None and summary.coverage is None:
        return []
    return [_quality(summary), _coverage(summary), _composite(summary)]


def both_ran(summary: RunSummary) -> bool:
    """Return whether the composite has both of its sides."""
    return summary.premise is not None and summary.coverage is not None


def _quality(summary: RunSummary) -> Figure:
    if summary.premise is None:
        return _not_run("Pass rate", f"{WHY_QUALITY} {BOTH_NEEDED}")
    meaning = "usable without the source, and licensed by it"
    return rate_figure("Pass rate", summary.premise.pass_rate, meaning)


def _coverage(summary: RunSummary) -> Figure:
    if summary.coverage is None:
        return _not_run("Coverage, explicit", f"{WHY_COVERAGE} {BOTH_NEEDED}")
    meaning = "of what the windows say outright, by importance"
    return share_figure("Coverage, explicit", summary.coverage.coverage_explicit, meaning)


def _composite(summary: RunSummary) -> Figure:
    name = "Quality × coverage"  # noqa: RUF001  the sign is meant
    if summary.composite is None or not both_ran(summary):
        return _not_run(name, WHY_COMPOSITE)
    value, parts = quality_value(summary.composite), quality_parts(summary.composite)
    return Figure(name, value, parts, "of the same, by sound conclusions")


def _not_run(name: str, why: str) -> Figure:
    return Figure(name, NOT_RUN, [], why, ran=False)

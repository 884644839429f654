"""Every metric of a run in one record, and the flat list of those that a gate can name."""

import typing
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol, TypeVar

from pydantic import BaseModel

from evals.composite import CompositeSummary, composite
from evals.coverage.metrics import CoverageSummary, coverage_summary
from evals.coverage.row import CoverageRow
from evals.coverage.share import Share
from evals.judging.case import Row
from evals.metrics import Mean, Rate
from evals.policy import DEFAULT_POLICY, CoveragePolicy
from evals.premise.metrics import PremiseSummary, premise_summary
from evals.premise.row import ConclusionRow
from evals.records import Record
from evals.runs.stored import rows_of
from evals.set_level.metrics import SetLevelSummary, set_level_summary
from evals.set_level.row import SetLevelRow

RowT = TypeVar("RowT", bound=Row)
Part = Callable[[Sequence[Row], CoveragePolicy], Record | None]


class Metric(Protocol):
    """A figure that a gate can name."""

    @property
    def value(self) -> float | None:
        """The figure; None where nothing was judged."""

    @property
    def unjudged(self) -> int:
        """What was left out of it because there is no verdict."""


METRIC_KINDS: dict[type[Metric], bool] = {Rate: True, Mean: False, Share: True}
"""Type of a summary's field that a gate can name -> whether it is a share from 0 to 1."""


class RunSummary(Record):
    """What the run's rows come to: one field an instrument."""

    premise: PremiseSummary | None
    """None where the run holds no row of the premise judge."""
    set_level: SetLevelSummary | None
    """None where it holds no row of the set-level bench."""
    coverage: CoverageSummary | None
    """None where it holds no row of the coverage bench."""
    composite: CompositeSummary | None
    """Quality x coverage (3.6); None where it holds no row of the one or of the other."""


def _over(shape: type[RowT], summary_of: Callable[[Sequence[RowT]], Record]) -> Part:
    """Return the summary of the rows of one shape; None where a run has none of them."""

    def part(rows: Sequence[Row], policy: CoveragePolicy) -> Record | None:  # noqa: ARG001  one form
        own = rows_of(shape, rows)
        return summary_of(own) if own else None

    return part


def _coverage(rows: Sequence[Row], policy: CoveragePolicy) -> Record | None:
    own = rows_of(CoverageRow, rows)
    return coverage_summary(own, policy) if own else None


def _composite(rows: Sequence[Row], policy: CoveragePolicy) -> Record | None:
    own, conclusions = rows_of(CoverageRow, rows), rows_of(ConclusionRow, rows)
    # Without verdicts every covered fact is unknown, and what is left would be a wrong share.
    return composite(own, conclusions, policy) if own and conclusions else None


SUMMARIES: dict[str, Part] = {
    "premise": _over(ConclusionRow, premise_summary),
    "set_level": _over(SetLevelRow, set_level_summary),
    "coverage": _coverage,
    "composite": _composite,
}
"""Field of ``RunSummary`` -> what makes it of all rows of a run, or None where it has no rows."""


def summarize(rows: Sequence[Row], policy: CoveragePolicy = DEFAULT_POLICY) -> RunSummary:
    """Return every metric over ``rows``; their order does not matter.

    Args:
        rows: of any instruments; gone through once an instrument, and once more for the composite.
        policy: weights and thresholds of the coverage bench, from the run record.
    """
    return RunSummary.model_validate({name: part(rows, policy) for name, part in SUMMARIES.items()})


def metric_of(summary: RunSummary, name: str) -> Metric | None:
    """Return one gateable metric; None where its instrument has no row in the run.

    Raises:
        KeyError: no metric has this name (see ``gateable_metrics``).
    """
    instrument, _ = gateable_metrics()[name]
    part = getattr(summary, instrument)
    metric: Metric | None = None if part is None else getattr(part, name)
    return metric


def figures(summary: RunSummary) -> dict[str, float | None]:
    """Return flat name -> value of every gateable metric; None where nothing was judged."""
    metrics = {name: metric_of(summary, name) for name in gateable_metrics()}
    return {name: None if metric is None else metric.value for name, metric in metrics.items()}


@cache
def gateable_metrics() -> dict[str, tuple[str, type[Metric]]]:
    """Return name -> (instrument, kind of figure), read from the summaries' declared types."""
    found: dict[str, tuple[str, type[Metric]]] = {}
    for instrument, field in RunSummary.model_fields.items():
        for name, kind in _metrics_of(_record_type(field.annotation)):
            assert name not in found, f"two instruments call a metric {name}: a gate needs one"
            found[name] = (instrument, kind)
    return found


def _record_type(annotation: object) -> type[BaseModel]:
    candidates = (annotation, *typing.get_args(annotation))
    return next(
        part for part in candidates if isinstance(part, type) and issubclass(part, BaseModel)
    )


def _metrics_of(record: type[BaseModel]) -> list[tuple[str, type[Metric]]]:
    return [
        (name, kind)
        for name, field in record.model_fields.items()
        for kind in METRIC_KINDS
        if field.annotation is kind
    ]

"""Every metric of a run in one record, and the flat list of those that a gate can name."""

import typing
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol, TypeVar

from pydantic import BaseModel

from evals.judging.case import Row
from evals.metrics import Mean, Rate
from evals.premise.metrics import PremiseSummary, premise_summary
from evals.premise.row import ConclusionRow
from evals.records import Record

RowT = TypeVar("RowT", bound=Row)


class Metric(Protocol):
    """A figure that a gate can name."""

    @property
    def value(self) -> float | None:
        """The figure; None where nothing was judged."""

    @property
    def unjudged(self) -> int:
        """What was left out of it because there is no verdict."""


METRIC_KINDS: dict[type[Metric], bool] = {Rate: True, Mean: False}
"""Type of a summary's field that a gate can name -> whether it is a share from 0 to 1."""


class RunSummary(Record):
    """What the run's rows come to: one field an instrument."""

    premise: PremiseSummary | None
    """None where the run holds no row of the premise judge."""


def _over(
    shape: type[RowT], summary_of: Callable[[Sequence[RowT]], Record]
) -> Callable[[Sequence[Row]], Record | None]:
    """Return the summary of the rows of one shape; None where a run has none of them."""

    def part(rows: Sequence[Row]) -> Record | None:
        own = [row for row in rows if isinstance(row, shape)]
        return summary_of(own) if own else None

    return part


SUMMARIES: dict[str, Callable[[Sequence[Row]], Record | None]] = {
    "premise": _over(ConclusionRow, premise_summary),
}
"""Field of ``RunSummary`` -> what makes it of all rows of a run, or None where it has no rows."""


def summarize(rows: Sequence[Row]) -> RunSummary:
    """Return every metric over ``rows``; their order does not matter."""
    return RunSummary.model_validate({name: part(rows) for name, part in SUMMARIES.items()})


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

"""Every metric of a run in one record, and the flat list of those that a gate can name."""

import typing
from collections.abc import Sequence
from functools import cache

from pydantic import BaseModel

from evals.judging.case import Row
from evals.metrics import Mean, Rate
from evals.premise.metrics import PremiseSummary, premise_summary
from evals.premise.row import ConclusionRow
from evals.records import Record


class RunSummary(Record):
    """What the run's rows come to: one field an instrument."""

    premise: PremiseSummary | None
    """None where the run holds no row of the premise judge."""


def summarize(rows: Sequence[Row]) -> RunSummary:
    """Return every metric over ``rows``; their order does not matter."""
    conclusions = [row for row in rows if isinstance(row, ConclusionRow)]
    return RunSummary(premise=premise_summary(conclusions) if conclusions else None)


def metric_of(summary: RunSummary, name: str) -> Rate | Mean | None:
    """Return one gateable metric; None where its instrument has no row in the run.

    Raises:
        KeyError: no metric has this name (see ``gateable_metrics``).
    """
    instrument, _ = gateable_metrics()[name]
    part = getattr(summary, instrument)
    metric = None if part is None else getattr(part, name)
    assert metric is None or isinstance(metric, Rate | Mean)
    return metric


def figures(summary: RunSummary) -> dict[str, float | None]:
    """Return flat name -> value of every gateable metric; None where nothing was judged."""
    metrics = {name: metric_of(summary, name) for name in gateable_metrics()}
    return {name: None if metric is None else metric.value for name, metric in metrics.items()}


@cache
def gateable_metrics() -> dict[str, tuple[str, type[Rate] | type[Mean]]]:
    """Return name -> (instrument, Rate or Mean), read from the summaries' declared types."""
    found: dict[str, tuple[str, type[Rate | Mean]]] = {}
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


def _metrics_of(record: type[BaseModel]) -> list[tuple[str, type[Rate] | type[Mean]]]:
    kinds: tuple[type[Rate | Mean], ...] = (Rate, Mean)
    return [
        (name, kind)
        for name, field in record.model_fields.items()
        for kind in kinds
        if field.annotation is kind
    ]

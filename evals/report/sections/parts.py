"""What a section is made of: figures with what they rest on, and charts with how to read them."""

from dataclasses import dataclass

from markupsafe import Markup

from evals.coverage.share import Share
from evals.metrics import Mean, Rate
from evals.report import numbers


@dataclass(frozen=True)
class Figure:
    """One headline number and what it rests on."""

    name: str
    value: str
    basis: list[str]
    """In parts, each of which stays on one line."""
    meaning: str
    ran: bool = True
    """False where its instrument is not in the run: ``value`` says so."""


@dataclass(frozen=True)
class Chart:
    """One chart, with a line on how to read it."""

    title: str
    svg: Markup
    note: str


def rate_figure(name: str, rate: Rate, meaning: str, *, is_unjudged_share: bool = False) -> Figure:
    """Return the figure of a rate."""
    parts = numbers.rate_parts(rate, is_unjudged_share=is_unjudged_share)
    return Figure(name, numbers.rate_value(rate), parts, meaning)


def mean_figure(name: str, mean: Mean, meaning: str) -> Figure:
    """Return the figure of a mean."""
    return Figure(name, numbers.mean_value(mean), numbers.mean_parts(mean), meaning)


def share_figure(name: str, share: Share, meaning: str) -> Figure:
    """Return the figure of a weighted share."""
    return Figure(name, numbers.share_value(share), numbers.share_parts(share), meaning)

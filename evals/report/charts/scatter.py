"""Points on two axes that both run from 0 to 100 %."""

import math
from dataclasses import dataclass

import pygal  # type: ignore[import-untyped]  # the library ships no types
from markupsafe import Markup

from evals.report.charts.svg import BLUE, WIDTH_PX, inline_svg, style
from evals.report.text import cut

_HEIGHT_PX = 380
_DOT_PX, _DOT_MOST_PX = 5.0, 16.0
_MARKS = {0: "0 %", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "100 %"}
_EDGE = 0.04
"""The axes go this much beyond 0 and 1, so that a point at an end is whole."""
_DESCRIBED_COLUMNS = 6000


@dataclass(frozen=True)
class Dot:
    """One place of the chart."""

    across: float
    """0 to 1."""
    up: float
    """0 to 1."""
    items: int
    """How many lie here; the point's area grows with it."""


def scatter(
    chart_id: str,
    title: str,
    dots: list[Dot],
    *,
    across: str,
    up: str,
    described: str,
    nothing: str,
) -> Markup:
    """Return the points as one ``<svg>``, or ``nothing`` as a sentence where there are none.

    Args:
        chart_id: unique on its page, ``[a-z-]``.
        title: the accessible name.
        dots: each place once.
        across: what the horizontal axis measures.
        up: what the vertical axis measures.
        described: the points in words, untrusted: cut and escaped here.
        nothing: the sentence for an empty chart.
    """
    if not dots:
        return Markup('<p class="cq-nothing">{}</p>').format(nothing)
    chart = pygal.XY(
        style=style(),
        width=WIDTH_PX,
        height=_HEIGHT_PX,
        margin=8,
        stroke=False,
        show_legend=False,
        dots_size=_DOT_PX,
        x_title=across,
        y_title=up,
        xrange=(-_EDGE, 1 + _EDGE),
        range=(-_EDGE, 1 + _EDGE),
        js=[],
    )
    chart.uuid = chart_id  # pygal's own is random
    chart.x_labels = chart.y_labels = [
        {"value": place, "label": label} for place, label in _MARKS.items()
    ]
    chart.add("", [_pygal_value(dot) for dot in dots])
    return inline_svg(chart.render_tree(), title, cut(described, _DESCRIBED_COLUMNS))


def _pygal_value(dot: Dot) -> dict[str, object]:
    radius = min(_DOT_PX * math.sqrt(dot.items), _DOT_MOST_PX)
    return {
        "value": (dot.across, dot.up),
        "color": BLUE,
        "node": {"r": f"{radius:.1f}"},
    }

"""Horizontal bars: counts, and shares on a common scale."""

from collections.abc import Mapping
from dataclasses import dataclass

import pygal  # type: ignore[import-untyped]  # the library ships no types
from markupsafe import Markup

from evals.report import numbers
from evals.report.charts.svg import BLUE, FONT_PX, WIDTH_PX, inline_svg, style
from evals.report.text import columns, cut

LABEL_COLUMNS = 34
"""A longer label is cut; the full text stands in the list for screen readers."""
TOP_LABELS = 12
_BAR_PX = 26
_FRAME_PX = 16
_EM_A_COLUMN, _PYGAL_EM_A_CHARACTER = 0.74, 0.6
"""Capitals of a wide face, against what pygal reckons with: its room would cut such labels off."""
_ROOM_FOR_VALUES = 1.55
"""The axis goes this much further than the longest bar, so that its number fits beside it."""


@dataclass(frozen=True)
class Bar:
    """One bar of a chart."""

    label: str
    """Untrusted: cut and escaped here."""
    length: float
    """In the chart's unit, 0 or more."""
    value: str
    """What stands beside the bar."""
    colour: str = BLUE


def counts_chart(
    chart_id: str,
    title: str,
    counts: Mapping[str, int],
    colours: Mapping[str, str],
    *,
    nothing: str,
    total: int | None = None,
    full: float | None = None,
) -> Markup:
    """Return one bar a count, with its share.

    Args:
        chart_id: unique on its page, ``[a-z-]``.
        title: the accessible name.
        counts: from top to bottom; label -> count.
        colours: label -> colour; blue where a label is not in it.
        nothing: the sentence for counts that are all 0.
        total: what the shares are of; the sum of ``counts`` where it is None.
        full: as of ``bar_chart``.
    """
    whole = sum(counts.values()) if total is None else total
    if not any(counts.values()):
        return bar_chart(chart_id, title, [], nothing=nothing)
    bars = [
        Bar(
            label=name,
            length=number,
            value=f"{numbers.count(number)} ({numbers.percent(number, whole)})",
            colour=colours.get(name) or BLUE,
        )
        for name, number in counts.items()
    ]
    return bar_chart(chart_id, title, bars, nothing=nothing, full=full)


def bar_chart(
    chart_id: str, title: str, bars: list[Bar], *, nothing: str, full: float | None = None
) -> Markup:
    """Return horizontal bars as one ``<svg>``, or ``nothing`` as a sentence where there are none.

    Args:
        chart_id: unique on its page, ``[a-z-]``.
        title: the accessible name.
        bars: from top to bottom.
        nothing: the sentence for an empty chart.
        full: what the full length stands for, so that charts of shares compare; the longest bar
            where it is None.
    """
    if not bars:
        return Markup('<p class="cq-nothing">{}</p>').format(nothing)
    drawn = bars[::-1]  # pygal draws from the bottom
    labels = [cut(bar.label, LABEL_COLUMNS) for bar in drawn]
    longest = max(bar.length for bar in bars) if full is None else full
    chart = pygal.HorizontalBar(
        style=style(),
        width=WIDTH_PX,
        height=_FRAME_PX + _BAR_PX * len(bars),
        margin=_FRAME_PX // 2,
        margin_left=_FRAME_PX // 2 + _extra_label_px(labels),
        range=(0, longest * _ROOM_FOR_VALUES or 1),
        show_legend=False,
        show_x_labels=False,
        show_x_guides=False,
        show_y_guides=False,
        print_values=True,
        print_values_position="top",
        js=[],
    )
    chart.uuid = chart_id  # pygal's own is random
    chart.x_labels = labels
    chart.add("", [_pygal_value(bar) for bar in drawn])
    described = "; ".join(f"{cut(bar.label, 200)}: {bar.value}" for bar in bars)
    return inline_svg(chart.render_tree(), title, described)


def _pygal_value(bar: Bar) -> dict[str, object]:
    return {"value": bar.length, "color": bar.colour, "formatter": lambda _: bar.value}


def _extra_label_px(labels: list[str]) -> float:
    """Return what the widest label takes beyond the room that pygal gives its longest one."""
    wanted = max(columns(label) for label in labels) * FONT_PX * _EM_A_COLUMN
    given = max(len(label) for label in labels) * FONT_PX * _PYGAL_EM_A_CHARACTER
    return max(0.0, wanted - given)

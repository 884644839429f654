"""Charts as inline SVG, drawn by pygal: no script, no network, the same input the same picture.

Colours come from CSS (``currentColor`` and the page's palette), so a chart fits light and dark.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import pygal  # type: ignore[import-untyped]  # the library ships no types
from markupsafe import Markup
from pygal.style import Style  # type: ignore[import-untyped]

from evals.premise.metrics import BundledByMinimality, PremiseSummary
from evals.report import numbers
from evals.report.text import columns, cut

# pygal adds an import finder for map plugins in a form that Python 3.11 warns of at every later
# failed import, which is an error under ``filterwarnings = error``. No map is drawn here.
sys.meta_path[:] = [
    finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)
]

WIDTH_PX = 600
LABEL_COLUMNS = 34
"""A longer label is cut; the full text stands in the list for screen readers."""
TOP_LABELS = 12
_BAR_PX = 26
_FRAME_PX = 16
_FONT_PX = 13
_EM_A_COLUMN, _PYGAL_EM_A_CHARACTER = 0.74, 0.6
"""Capitals of a wide face, against what pygal reckons with: its room would cut such labels off."""
_ROOM_FOR_VALUES = 1.55
"""The axis goes this much further than the longest bar, so that its number fits beside it."""

BLUE, GREEN, AMBER, RED, GREY = "#3b76b8", "#2e8b62", "#b7791f", "#c2483d", "#7d8590"
"""Bar colours with at least 3:1 contrast on white and on near-black."""

ATTRIBUTION_COLOURS = {
    "PRESENT_IN_WINDOW": BLUE,
    "ABSENT_FROM_WINDOW": AMBER,
    "ABSENT_EVERYWHERE": GREY,
}
TIME_COLOURS = {
    "ANCHORED_CORRECTLY": GREEN,
    "SELF_ANCHORING": GREEN,
    "HEDGED_APPROPRIATELY": GREEN,
    "ANCHORED_TO_BAD_TIMESTAMP": AMBER,
    "UNANCHORED": RED,
    "ANCHORED_INCORRECTLY": RED,
}


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


def attribution_chart(summary: PremiseSummary) -> Markup:
    """Draw the headline: open slots of failed conclusions by attribution (1.4)."""
    counts = Counter(summary.failure_attribution_split.counts)
    named = {name: counts[name] for name in ATTRIBUTION_COLOURS}  # all three, a zero as well
    return _counts_chart(
        "attribution",
        "Where the open slots of failed conclusions could have been settled",
        named,
        ATTRIBUTION_COLOURS,
        nothing="No failed conclusion leaves a slot open.",
    )


def time_status_chart(summary: PremiseSummary) -> Markup:
    """Draw pass 2's time statuses: green passes, amber is the input's fault, red fails."""
    return _counts_chart(
        "time-status",
        "Time status of judged conclusions",
        summary.time_status_histogram.counts,
        TIME_COLOURS,
        nothing="No conclusion has a time status.",
    )


def label_chart(summary: PremiseSummary) -> Markup:
    """Draw the most frequent labels; the rest is one line below, counted."""
    counts = summary.label_histogram.counts
    top = dict(list(counts.items())[:TOP_LABELS])
    return _counts_chart(
        "labels",
        "Most frequent labels of both passes",
        top,
        {},
        total=sum(counts.values()),
        nothing="The judge gave no labels.",
    )


def failed_condition_chart(summary: PremiseSummary) -> Markup:
    """Draw which conditions of 1.3 failed; a conclusion can fail several."""
    histogram = summary.failed_condition_histogram
    return _counts_chart(
        "failed-conditions",
        "Conditions that unsound conclusions fail",
        histogram.counts,
        {},
        total=histogram.n,
        nothing="No conclusion failed a condition.",
    )


def unsupported_kind_chart(summary: PremiseSummary) -> Markup:
    """Draw the kinds of unsupported elements."""
    return _counts_chart(
        "unsupported-kinds",
        "Kinds of unsupported elements",
        summary.unsupported_kind_histogram.counts,
        {},
        nothing="No conclusion has an unsupported element.",
    )


def bundled_chart(summary: PremiseSummary) -> Markup:
    """Draw mean minimality of bundled and single conclusions, on the scale of 0 to 1."""
    cells = [cell for cell in summary.bundled_by_minimality if cell.minimality.value is not None]
    return bar_chart(
        "bundled",
        "Mean minimality by the bundled flag of pass 1",
        [_bundled_bar(cell) for cell in cells],
        nothing="No conclusion has both a bundled flag and a minimality.",
    )


def _bundled_bar(cell: BundledByMinimality) -> Bar:
    return Bar(
        label="bundled" if cell.bundled else "not bundled",
        length=cell.minimality.value or 0.0,
        value=f"{numbers.mean_value(cell.minimality)} (n {numbers.count(cell.minimality.n)})",
        colour=AMBER if cell.bundled else BLUE,
    )


def _counts_chart(
    chart_id: str,
    title: str,
    counts: Mapping[str, int],
    colours: Mapping[str, str],
    *,
    nothing: str,
    total: int | None = None,
) -> Markup:
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
    return bar_chart(chart_id, title, bars, nothing=nothing)


def bar_chart(chart_id: str, title: str, bars: list[Bar], *, nothing: str) -> Markup:
    """Return horizontal bars as one ``<svg>``, or ``nothing`` as a sentence where there are none.

    Args:
        chart_id: unique on its page, ``[a-z-]``.
        title: the accessible name.
        bars: from top to bottom.
        nothing: the sentence for an empty chart.
    """
    if not bars:
        return Markup('<p class="cq-nothing">{}</p>').format(nothing)
    drawn = bars[::-1]  # pygal draws from the bottom
    labels = [cut(bar.label, LABEL_COLUMNS) for bar in drawn]
    chart = pygal.HorizontalBar(
        style=_style(),
        width=WIDTH_PX,
        height=_FRAME_PX + _BAR_PX * len(bars),
        margin=_FRAME_PX // 2,
        margin_left=_FRAME_PX // 2 + _extra_label_px(labels),
        range=(0, max(bar.length for bar in bars) * _ROOM_FOR_VALUES or 1),
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
    return _inline_svg(chart.render_tree(), title, described)


def _pygal_value(bar: Bar) -> dict[str, object]:
    return {"value": bar.length, "color": bar.colour, "formatter": lambda _: bar.value}


def _extra_label_px(labels: list[str]) -> float:
    """Return what the widest label takes beyond the room that pygal gives its longest one."""
    wanted = max(columns(label) for label in labels) * _FONT_PX * _EM_A_COLUMN
    given = max(len(label) for label in labels) * _FONT_PX * _PYGAL_EM_A_CHARACTER
    return max(0.0, wanted - given)


def _style() -> Style:
    return Style(
        background="transparent",
        plot_background="transparent",
        foreground="currentColor",
        foreground_strong="currentColor",
        foreground_subtle="currentColor",
        font_family="inherit",
        label_font_size=_FONT_PX,
        value_font_size=_FONT_PX,
        value_colors=("currentColor",),
        opacity="1",
        opacity_hover="1",
        stroke_opacity="1",
        transition="0s",
    )


def _inline_svg(root: ET.Element, title: str, described: str) -> Markup:
    """Keep the picture and drop what serves pygal's script: scripts, comments, tool tips."""
    for parent in list(root.iter()):
        for child in list(parent):
            if _is_for_script(child):
                parent.remove(child)
    for text in root.iter("text"):
        if text.get("class") == "value":
            text.set("text-anchor", "start")  # beside the bar's end, not across it
    root.set("role", "img")
    for position, (tag, words) in enumerate((("title", title), ("desc", described))):
        element = ET.Element(tag, id=f"{root.get('id')}-{tag}")
        element.text = words
        root.insert(position, element)
    root.set("aria-labelledby", f"{root.get('id')}-title {root.get('id')}-desc")
    # Escaped by the XML writer, text and attributes alike: safe to stand in a page as it is.
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704


def _is_for_script(node: ET.Element) -> bool:
    is_comment = not isinstance(node.tag, str)  # ElementTree's mark of one
    return (
        is_comment
        or node.tag in {"script", "desc", "title"}
        or node.get("class") == "plot tooltip-overlay"
    )

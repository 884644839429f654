"""What every chart shares: the drawing library, its style, and an SVG that stands in a page."""

import sys
from xml.etree import ElementTree as ET

import pygal  # type: ignore[import-untyped]  # the library ships no types
from markupsafe import Markup
from pygal.style import Style  # type: ignore[import-untyped]

# pygal adds an import finder for map plugins in a form that Python 3.11 warns of at every later
# failed import, which is an error under ``filterwarnings = error``. No map is drawn here.
sys.meta_path[:] = [
    finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)
]

WIDTH_PX = 600
FONT_PX = 13

BLUE, GREEN, AMBER, RED, GREY = "#3b76b8", "#2e8b62", "#b7791f", "#c2483d", "#7d8590"
"""Bar colours with at least 3:1 contrast on white and on near-black."""


def style() -> Style:
    """Return the style of every chart: no colour of its own but that of the bars and points."""
    return Style(
        background="transparent",
        plot_background="transparent",
        foreground="currentColor",
        foreground_strong="currentColor",
        foreground_subtle="currentColor",
        font_family="inherit",
        label_font_size=FONT_PX,
        major_label_font_size=FONT_PX,
        title_font_size=FONT_PX,
        value_font_size=FONT_PX,
        value_colors=("currentColor",),
        opacity="1",
        opacity_hover="1",
        stroke_opacity="1",
        transition="0s",
    )


def inline_svg(root: ET.Element, title: str, described: str) -> Markup:
    """Return the picture without what serves pygal's script: scripts, comments, tool tips.

    Args:
        root: the drawing, with its ``id``.
        title: the accessible name.
        described: what it shows, in words.
    """
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

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from evals.premise.metrics import premise_summary
from evals.premise.row import ConclusionRow
from evals.premise.schema import MinimalityItem
from evals.report.charts import premise as charts
from evals.report.charts.bars import LABEL_COLUMNS, Bar, bar_chart
from evals.report.charts.svg import FONT_PX

MakeRow = Callable[..., ConclusionRow]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in drawn(svg).iter(f"{SVG}text")]


def bar_widths(svg: str) -> list[float]:
    rects = drawn(svg).iter(f"{SVG}rect")
    return [float(rect.get("width", "nan")) for rect in rects if "rect" in rect.get("class", "")]


BARS = [Bar("long", 9, "9 (60.0 %)"), Bar("short", 6, "6 (40.0 %)")]


def test_bars_are_in_proportion_and_numbered() -> None:
    svg = bar_chart("t", "Title", BARS, nothing="-")
    short, long = sorted(bar_widths(svg))
    assert short / long == pytest.approx(6 / 9, rel=0.01)
    assert {"long", "short", "9 (60.0 %)", "6 (40.0 %)"} <= set(texts(svg))


def test_the_first_bar_is_at_the_top() -> None:
    nodes = {node.text: float(node.get("y", "nan")) for node in drawn(
        bar_chart("t", "Title", BARS, nothing="-")).iter(f"{SVG}text")}  # fmt: skip
    assert nodes["long"] < nodes["short"]


def test_the_same_bars_give_the_same_picture() -> None:
    assert bar_chart("t", "T", BARS, nothing="-") == bar_chart("t", "T", BARS, nothing="-")


def test_a_chart_holds_no_script_comment_or_address() -> None:
    svg = bar_chart("t", "T", BARS, nothing="-")
    without_names = svg.replace("http://www.w3.org/2000/svg", "").replace(
        "http://www.w3.org/1999/xlink", ""
    )
    for forbidden in ("<script", "<!--", "http", "//", "url(", "@import", "pygal.org", "href"):
        assert forbidden not in without_names


def test_a_chart_names_and_describes_itself_for_a_screen_reader() -> None:
    root = drawn(bar_chart("t", "Failed conditions", BARS, nothing="-"))
    title, desc = root[0], root[1]
    assert (title.tag, title.text) == (f"{SVG}title", "Failed conditions")
    assert (desc.tag, desc.text) == (f"{SVG}desc", "long: 9 (60.0 %); short: 6 (40.0 %)")
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert root.get("role") == "img"


def test_hostile_labels_are_text_and_cut(hostile: str) -> None:
    svg = bar_chart("t", "T", [Bar(hostile, 1, "1")], nothing="-")
    tags = {node.tag.removeprefix(SVG) for node in drawn(svg).iter()}
    assert tags <= {"svg", "title", "desc", "defs", "style", "g", "rect", "path", "text"}
    assert all(len(text) <= LABEL_COLUMNS for text in texts(svg))


def test_wide_labels_get_the_room_that_they_need() -> None:
    def left_edge(label: str) -> float:
        svg = bar_chart("t", "T", [Bar(label, 1, "1")], nothing="-")
        plot = next(g for g in drawn(svg).iter(f"{SVG}g") if g.get("class") == "plot")
        return float(plot.get("transform", "").removeprefix("translate(").split(",")[0])

    assert left_edge("結論" * 8) >= 16 * FONT_PX
    assert left_edge("ANCHORED_TO_BAD_TIMESTAMP") >= 25 * FONT_PX * 0.7


def test_an_empty_chart_is_a_sentence() -> None:
    assert bar_chart("t", "T", [], nothing="Nothing <yet>.") == (
        '<p class="cq-nothing">Nothing &lt;yet&gt;.</p>'
    )


def test_attribution_always_shows_all_three(make_row: MakeRow) -> None:
    row = make_row(slots=[("TIME", "PRESENT_IN_WINDOW", "x")])
    assert {*charts.ATTRIBUTION_COLOURS, "1 (100.0 %)", "0 (0.0 %)"} == set(
        texts(charts.attribution_chart(premise_summary([row])))
    )


def test_label_shares_are_of_all_labels_though_only_the_top_is_drawn(make_row: MakeRow) -> None:
    rows = [make_row(labels=[f"label {number:02}"]) for number in range(20)]
    shown = texts(charts.label_chart(premise_summary(rows)))
    assert "1 (5.0 %)" in shown
    assert "label 11" in shown
    assert "label 12" not in shown


def test_failed_conditions_are_shares_of_unsound_conclusions(make_row: MakeRow) -> None:
    both = make_row(slots=[("TIME", "PRESENT_IN_WINDOW", "x")], time_status="UNANCHORED")
    one = make_row(slots=[("TIME", "PRESENT_IN_WINDOW", "x")])
    shown = texts(charts.failed_condition_chart(premise_summary([both, one, make_row()])))
    assert {"unknown_slots", "2 (100.0 %)", "time_status", "1 (50.0 %)"} == set(shown)


def test_minimality_is_drawn_by_the_bundled_flag(make_row: MakeRow) -> None:
    item = MinimalityItem(conclusion_id="c", claims=("a", "b"), padding=(), minimality=0.4)
    rows = [make_row(bundled=True, minimality=item), make_row()]
    shown = texts(charts.bundled_chart(premise_summary(rows)))
    assert {"bundled", "0.40 (n 1)", "not bundled", "1.00 (n 1)"} == set(shown)


@pytest.mark.parametrize(
    "chart",
    [
        charts.attribution_chart,
        charts.time_status_chart,
        charts.label_chart,
        charts.failed_condition_chart,
        charts.unsupported_kind_chart,
        charts.bundled_chart,
    ],
)
def test_every_chart_of_no_rows_is_a_sentence(chart: object) -> None:
    assert callable(chart)
    assert chart(premise_summary([])).startswith('<p class="cq-nothing">')

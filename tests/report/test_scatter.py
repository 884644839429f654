from xml.etree import ElementTree as ET

from evals.composite import CompositeSummary, WindowPoint
from evals.coverage.share import share_of
from evals.report.charts.composite import (
    WINDOWS_DESCRIBED,
    quality_against_coverage,
    without_a_place,
)
from evals.report.charts.scatter import Dot, scatter

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*dots: Dot, described: str = "d") -> ET.Element:
    svg = scatter("t", "T", list(dots), across="x", up="y", described=described, nothing="-")
    return ET.fromstring(svg)


def circles(root: ET.Element) -> list[tuple[float, float, float]]:
    return [
        (float(node.get("cx", "nan")), float(node.get("cy", "nan")), float(node.get("r", "nan")))
        for node in root.iter(f"{SVG}circle")
    ]


def summary_of(*points: tuple[str, float | None, float | None]) -> CompositeSummary:
    return CompositeSummary(
        quality_coverage=share_of([]),
        quality_coverage_worst=share_of([]),
        quality_coverage_best=share_of([]),
        quality_coverage_implicit=share_of([]),
        facts_covered=0,
        facts_kept=0,
        facts_lost=0,
        facts_unknown=0,
        lost_facts=(),
        points=tuple(
            WindowPoint(
                window_id=window_id,
                pass_rate=pass_rate,
                conclusions_judged=1,
                conclusions_unjudged=0,
                coverage_explicit=coverage,
                quality_coverage=coverage,
                facts_unknown=0,
            )
            for window_id, coverage, pass_rate in points
        ),
    )


def test_points_lie_where_their_figures_say() -> None:
    (left, low, _), (middle, _, _), (right, high, _) = circles(
        drawn(Dot(0, 0, 1), Dot(0.5, 0.5, 1), Dot(1, 1, 1))
    )
    assert left < middle < right
    assert low > high  # SVG counts from the top
    assert abs(middle - (left + right) / 2) < 0.01


def test_the_axes_stay_the_same_whatever_the_points() -> None:
    alone = circles(drawn(Dot(0.5, 0.5, 1)))[0]
    among = circles(drawn(Dot(0, 0, 1), Dot(0.5, 0.5, 1), Dot(1, 1, 1)))[1]
    assert alone == among


def test_a_point_of_several_windows_is_larger() -> None:
    one, four = circles(drawn(Dot(0, 0, 1), Dot(1, 1, 4)))
    assert four[2] == 2 * one[2]


def test_windows_at_one_place_are_one_point() -> None:
    svg = quality_against_coverage(summary_of(("a", 0.5, 1.0), ("b", 0.501, 1.0), ("c", 0.6, 1.0)))
    assert len(circles(ET.fromstring(svg))) == 2


def test_windows_without_both_figures_are_left_out_and_returned() -> None:
    summary = summary_of(("a", None, 1.0), ("b", 0.5, None), ("c", 0.5, 0.5), ("d", None, None))
    assert [point.window_id for point in without_a_place(summary)] == ["a", "b", "d"]
    assert len(circles(ET.fromstring(quality_against_coverage(summary)))) == 1


def test_the_scatter_is_told_in_words_and_the_rest_counted() -> None:
    points = [(f"w{number}", 0.5, 0.25) for number in range(WINDOWS_DESCRIBED + 2)]
    root = ET.fromstring(quality_against_coverage(summary_of(*points)))
    words = root[1].text or ""
    assert words.startswith("w0: coverage 50.0 %, pass rate 25.0 %; ")
    assert words.endswith("; and 2 more windows")
    assert root.get("role") == "img"


def test_a_scatter_of_nothing_is_a_sentence() -> None:
    assert quality_against_coverage(summary_of(("a", None, None))).startswith("<p")


def test_hostile_window_ids_are_text_and_cut(hostile: str) -> None:
    svg = quality_against_coverage(summary_of((hostile, 0.5, 0.5)))
    tags = {node.tag.removeprefix(SVG) for node in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "desc", "defs", "style", "g", "rect", "path", "text", "circle"}
    for forbidden in ("<script", "<!--", "pygal.org", "href"):
        assert forbidden not in svg


def test_the_same_points_give_the_same_picture() -> None:
    first, again = (quality_against_coverage(summary_of(("a", 0.5, 0.5))) for _ in range(2))
    assert first == again

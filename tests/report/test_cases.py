import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evals.errors import RunError
from evals.premise.row import ConclusionRow
from evals.records import Unjudged, Window
from evals.report.cases import cases_pieces, page_script, write_cases
from evals.report.paged import script_json
from evals.report.templates import script_hash
from evals.runs.record import RunInfo
from tests.report.page_blocks import block, lines

MakeRow = Callable[..., ConclusionRow]
MakeWindow = Callable[..., Window]
MakeInfo = Callable[..., RunInfo]


def by_id(*windows: Window) -> dict[str, Window]:
    return {window.window_id: window for window in windows}


def cases_html(info: RunInfo, rows: list[ConclusionRow], windows: dict[str, Window]) -> str:
    return "".join(cases_pieces(info, rows, windows))


def test_the_index_holds_what_the_list_needs(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    rows = [
        make_row("ana is 34", slots=[("TIME", "PRESENT_IN_WINDOW", "x")], labels=["age", "age"]),
        make_row("ana moved", unjudged=Unjudged(reason="refused", detail="no")),
    ]
    index = json.loads(block(cases_html(make_info(), rows, by_id(make_window())), "index"))
    assert index["text"] == ["ana is 34", "ana moved"]
    assert index["decon"] == ["0.90", "–"]  # noqa: RUF001
    assert [name for name, _, _ in index["outcomes"]] == ["unsound", "unjudged", "sound"]
    assert [count for _, _, count in index["outcomes"]] == [1, 1, 0]
    assert index["outcome"] == [0, 1]
    assert index["facets"]["label"] == {"choices": [["age", 1]], "rows": [[0], []]}
    assert index["facets"]["failed"]["choices"] == [["unknown_slots", 1]]
    assert index["facets"]["reason"] == {"choices": [["refused", 1]], "rows": [[], [0]]}


def test_a_row_line_tells_everything_about_a_case(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    row = make_row(
        "ana is 34",
        slots=[("TIME", "ABSENT_FROM_WINDOW", "said before")],
        unsupported=[("34", "FABRICATION", "never said")],
        labels=["age"],
        minimality=None,
        minimality_unjudged=Unjudged(reason="truncated", detail="cut"),
        attribution_unjudged=Unjudged(reason="timeout", detail="late"),
    )
    [told] = lines(cases_html(make_info(), [row], by_id(make_window())), "rows")
    assert told["slots"] == [["TIME", "open"]]
    assert told["missing"] == [["TIME", "ABSENT_FROM_WINDOW", "said before"]]
    assert told["unsupported"] == [["34", "FABRICATION", "never said"]]
    assert told["minimality_unjudged"] == ["truncated", "cut"]
    assert told["attribution_unjudged"] == ["timeout", "late"]
    assert told["words"] == 3
    assert told["scope"] == "window"
    assert [call[0] for call in told["calls"]] == ["premise.pass_1", "premise.pass_2"]
    assert told["calls"][0][6] == "500 in, 120 out"
    assert told["deriver"] == ["deriver-1", "d" * 64, "2026-06-04 12:30:00 UTC"]


def test_what_was_not_judged_is_absent_and_not_empty(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    row = make_row(unjudged=Unjudged(reason="timeout", detail="late"))
    [told] = lines(cases_html(make_info(), [row], by_id(make_window())), "rows")
    assert told["unjudged"] == ["timeout", "late"]
    assert not {"reconstruction", "slots", "license", "missing", "force"} & set(told)


def test_windows_are_stored_once_and_referred_to(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    first = make_window("one", window_id="w1")
    second = make_window("two", window_id="w2", earlier_messages=first.messages)
    rows = [make_row(window=second), make_row(window=first), make_row(window=second, ordinal=1)]
    page = cases_html(make_info(), rows, by_id(first, second))
    assert [row["window"] for row in lines(page, "rows")] == [0, 1, 0]
    windows = lines(page, "windows")
    assert [window["id"] for window in windows] == ["w2", "w1"]
    assert windows[0]["earlier"] == "1 earlier message"
    assert windows[1]["earlier"] is None
    assert windows[0]["messages"] == [["m1", "ana", "2026-06-04 12:01:00 UTC", "two"]]


def test_provenance_that_rows_share_is_stored_once(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    page = cases_html(make_info(), [make_row(), make_row("b")], by_id(make_window()))
    shared = json.loads(block(page, "shared"))
    assert len(shared["provenance"]) == 1
    assert ["Judge model", "judge-1"] in shared["provenance"][0]
    assert ["Judge repeat", "0"] in shared["provenance"][0]
    assert shared["models"] == ["judge-1"]


@pytest.mark.parametrize("rows", [0, 1])
def test_a_page_of_few_rows_is_a_page(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow, rows: int
) -> None:
    page = cases_html(make_info(), [make_row()] * rows, by_id(make_window()))
    assert page.startswith("<!doctype html>\n<html lang=")
    assert f"<title>Cases of run 20260604-120000-abcd: {rows} conclusion" in page
    assert len(lines(page, "rows")) == rows


def test_a_row_without_its_window_is_refused(make_info: MakeInfo, make_row: MakeRow) -> None:
    with pytest.raises(RunError, match="no such window"):
        cases_html(make_info(), [make_row()], {})


def test_hostile_text_opens_no_tag_and_closes_no_block(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow, hostile: str
) -> None:
    def page(text: str) -> str:
        window = make_window(text, window_id=text, peer_id=text, conversation_id=text)
        row = make_row(
            text,
            window=window,
            case_id=text,
            slots=[(text, "PRESENT_IN_WINDOW", text)],
            unsupported=[(text, text, text)],
            labels=[text],
        )
        info = make_info(run_id=text, judge_model=text, calibrated=False, calibration_why=text)
        return cases_html(info, [row], by_id(window))

    tags = re.compile(r"<[a-zA-Z/!]+")
    assert tags.findall(page(hostile)) == tags.findall(page("harmless"))
    [told] = lines(page(hostile), "rows")
    assert told["missing"] == [[hostile, "PRESENT_IN_WINDOW", hostile]]
    [window] = lines(page(hostile), "windows")
    assert window["messages"][0][3] == hostile


@pytest.mark.parametrize("text", ["</script>", "<!--", "a\nb\r\u2028c", "\x00", "結論"])
def test_json_for_a_script_reads_back_and_holds_no_tag_or_line_break(text: str) -> None:
    written = script_json([text])
    assert json.loads(written) == [text]
    assert not set(written) & {"<", "\n", "\r", "\x00"}


def test_the_page_needs_no_network_and_allows_its_own_script_alone(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    page = cases_html(make_info(), [make_row()], by_id(make_window()))
    assert not re.search(r"https?://|url\(|@import|\ssrc=", page)
    allowed = script_hash(page_script())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = html.unescape(policy[1]).split("; ")
    assert rules[0] == "default-src 'none'"
    assert f"script-src {allowed}" in rules
    assert f"<script>{page_script()}</script>" in page


def test_the_script_never_reads_data_as_markup() -> None:
    script = page_script()
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in script


def test_banners_state_what_a_reader_must_know_first(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    info = make_info(
        calibrated=False,
        calibration_why="no stamp",
        complete=False,
        ended_at=None,
        judge_mode="recorded",
        judge_mode_why="recorded answers: asked for",
    )
    page = cases_html(info, [make_row()], by_id(make_window()))
    for wanted in ("NOT CALIBRATED: no stamp", "INCOMPLETE RUN", "recorded answers: asked for"):
        assert wanted in page
    calm = cases_html(make_info(), [make_row()], by_id(make_window()))
    assert 'class="banner bad"' not in calm
    assert "NOT CALIBRATED" not in calm


def test_the_page_is_written_whole_and_for_its_owner_alone(
    tmp_path: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    path = write_cases(tmp_path, make_info(), [make_row("結論")], by_id(make_window()))
    assert path == tmp_path / "cases.html"
    assert "結論" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["cases.html"]


def test_what_stops_the_writing_leaves_the_page_that_was_there(
    tmp_path: Path, make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    path = write_cases(tmp_path, make_info(), [make_row()], by_id(make_window()))
    before = path.read_bytes()
    elsewhere = make_row(window=make_window(window_id="w2"))
    with pytest.raises(RunError, match="no such window"):
        write_cases(tmp_path, make_info(), [make_row(), elsewhere], by_id(make_window()))
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["cases.html"]


def test_a_folder_that_is_not_there_is_an_error_with_the_page_s_name(
    tmp_path: Path, make_info: MakeInfo
) -> None:
    with pytest.raises(RunError, match=r"gone.cases\.html.*a place that can be written"):
        write_cases(tmp_path / "gone", make_info(), [], {})


def test_a_line_is_made_when_the_page_comes_to_it(
    make_info: MakeInfo, make_row: MakeRow, make_window: MakeWindow
) -> None:
    rows = [make_row("first"), make_row(window=make_window(window_id="w2"))]
    pieces = cases_pieces(make_info(), rows, by_id(make_window()))
    came: list[str] = []
    with pytest.raises(RunError, match="no such window"):
        came.extend(pieces)
    assert "Somebody says: first" in "".join(came)

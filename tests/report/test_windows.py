import html
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.errors import RunError
from evals.judging.case import Row
from evals.records import Window
from evals.report.paged import Facet
from evals.report.templates import script_hash
from evals.report.windows import page_script, windows_pieces, write_windows
from evals.runs.record import RunInfo
from evals.runs.summary import summarize
from tests.report.conftest import info_of
from tests.report.page_blocks import block, index_of, lines
from tests.report.window_rows import (
    LATE,
    batch_row,
    coverage_row,
    dropped_of,
    fact_of,
    ids_of,
    issue_of,
    question_of,
    told_rows,
    told_window,
    unjudged_batch,
    unjudged_coverage,
    verdict_rows,
)

MakeInfo = Callable[..., RunInfo]


def page_of(rows: Sequence[Row], *windows: Window) -> str:
    by_id = {window.window_id: window for window in windows}
    return "".join(windows_pieces(info_of(), rows, by_id))


def told_page() -> str:
    window = told_window()
    return page_of(told_rows(window), window)


def test_the_index_holds_what_the_list_needs() -> None:
    index = index_of(told_page())
    assert index["id"] == ["w1"]
    assert (index["pass"], index["coverage"], index["quality"]) == (
        ["33.3 %"],
        ["75.0 %"],
        ["–"],  # noqa: RUF001  a fact of it is unknown
    )
    assert index["missing"] == [1]
    told = "3 of 7 gold facts covered; 1 of 3 questions right (1 unjudged)"
    assert index["text"] == [f"{told}; batch of 4: 1 redundancy group, 1 contradiction"]
    names = [name for name, _, _ in index["outcomes"]]
    assert [names[number] for number in index["outcome"][0]] == ["missing", "issues", "unjudged"]
    assert [count for _, _, count in index["outcomes"]] == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("composite", {"kept", "lost", "unknown"}),
        ("issue", {"REDUNDANCY MEDIUM", "TEMPORAL_CONFUSION HIGH", "string repeat"}),
        ("grade", {"ANSWERABLE_CORRECT", "ANSWERABLE_WRONG", "UNANSWERABLE", "unjudged"}),
        ("dropped", {"relative_time", "no_inference"}),
        ("reason", {"verdict: timeout", "answering: timeout"}),
    ],
)
def test_each_filter_offers_what_there_is(name: str, choices: set[str]) -> None:
    found = index_of(told_page())["facets"][name]["choices"]
    assert {text for text, _ in found} == choices
    assert all(count == 1 for _, count in found)


def test_the_filter_of_facts_tells_importance_status_and_implicit_ones_apart() -> None:
    found = index_of(told_page())["facets"]["fact"]["choices"]
    assert {"CRITICAL COVERED", "TRIVIAL MISSING", "implicit IMPORTANT MISSING"} <= {
        text for text, _ in found
    }


@pytest.mark.parametrize(
    ("changes", "is_missing"),
    [
        ({}, True),
        ({"importance": "TRIVIAL"}, False),
        ({"requires_inference": True}, False),
        ({"status": "PARTIAL"}, False),
        ({"status": None}, False),
    ],
)
def test_missing_facts_are_those_that_the_derivers_score_lacks(
    changes: dict[str, Any], *, is_missing: bool
) -> None:
    window = told_window()
    index = index_of(page_of([coverage_row(window, fact_of(**changes))], window))
    assert index["missing"] == [int(is_missing)]
    assert index["outcomes"][0][2] == int(is_missing)


def test_a_line_tells_everything_about_its_window() -> None:
    [told] = lines(told_page())
    assert [one[0] for one in told["conclusions"]] == [
        "ana moved to Porto",
        "ana lives in Porto",
        "ana has a cat named Miro",
        "ana likes it",
    ]
    assert [one[2] for one in told["conclusions"]] == ["sound", "unsound", "unsound", "unjudged"]
    assert told["conclusions"][1][4:] == [["unknown_slots"], "home"]
    facts = {fact["id"]: fact for fact in told["coverage"]["facts"]}
    assert {name: fact.get("word") for name, fact in facts.items()} == {
        "g1": "kept", "g2": "lost", "g3": None, "g4": None, "g5": "unknown", "g6": None, "g7": None,
    }  # fmt: skip
    assert facts["g2"]["covering"] == [1]
    assert facts["g7"]["implicit"] is True
    assert told["coverage"]["dropped"][0] == [
        "ana moved last year", "I moved", "relative_time", "last year",
    ]  # fmt: skip
    questions = {one["id"]: one for one in told["coverage"]["questions"]}
    assert (questions["q2"]["written"], questions["q2"]["by"]) == ("Lisbon", "judge")
    assert questions["q4"]["unjudged"] == ["timeout", "no answer within 60 s"]
    assert not {"grade", "written", "by"} & set(questions["q4"])
    assert told["batch"]["issues"][0] == [
        "REDUNDANCY", "MEDIUM", [0, 1], "both say where ana lives",
    ]  # fmt: skip
    assert told["batch"]["repeats"] == [[0, 1], [2, 3]]
    assert told["messages"][0][3] == "I moved to Porto in March 2026."


def test_the_words_of_all_facts_add_up_to_the_composite_of_the_run() -> None:
    windows = [told_window(window_id=f"w{number}") for number in range(3)]
    rows = [row for window in windows for row in told_rows(window)]
    composite = summarize(rows).composite
    assert composite is not None
    told = lines(page_of(rows, *windows))
    words = Counter(fact.get("word") for line in told for fact in line["coverage"]["facts"])
    assert (words["kept"], words["lost"], words["unknown"]) == (
        composite.facts_kept,
        composite.facts_lost,
        composite.facts_unknown,
    )


def test_what_was_not_judged_is_absent_and_not_empty() -> None:
    window = told_window()
    page = page_of([unjudged_coverage(window), unjudged_batch(window)], window)
    [told] = lines(page)
    assert not {"facts", "questions", "source"} & set(told["coverage"])
    assert told["coverage"]["gold_unjudged"] == ["timeout", "no answer within 60 s"]
    assert "issues" not in told["batch"]
    assert told["batch"]["unjudged"][0] == "timeout"
    index = index_of(page)
    assert (index["pass"], index["coverage"], index["quality"]) == (["–"], ["–"], ["–"])  # noqa: RUF001
    assert [count for _, _, count in index["outcomes"]] == [0, 0, 1, 0]


def test_unjudged_matching_leaves_facts_without_a_status() -> None:
    window = told_window()
    row = coverage_row(
        window, fact_of(status=None, why=None), outcome="unjudged", unjudged=LATE,
        matching_unjudged=LATE,
    )  # fmt: skip
    [told] = lines(page_of([row], window))
    assert "status" not in told["coverage"]["facts"][0]
    assert told["coverage"]["matching_unjudged"][0] == "timeout"
    assert "gold_unjudged" not in told["coverage"]


@pytest.mark.parametrize("instrument", ["premise", "coverage", "set_level"])
def test_one_instrument_alone_makes_a_page(instrument: str) -> None:
    window = told_window()
    rows = [row for row in told_rows(window) if row.instrument == instrument]
    page = page_of(rows, window)
    [told] = lines(page)
    assert ("coverage" in told, "batch" in told) == (
        instrument == "coverage",
        instrument == "set_level",
    )
    assert index_of(page)["quality"] == ["–"]  # noqa: RUF001
    words = {fact.get("word") for fact in told.get("coverage", {}).get("facts", [])}
    assert "kept" not in words
    assert "lost" not in words


def test_a_page_of_no_rows_is_a_page() -> None:
    page = page_of([])
    assert page.startswith("<!doctype html>\n<html lang=")
    assert "<title>Windows of run 20260604-120000-abcd: 0 windows</title>" in page
    assert lines(page) == []


def test_windows_stand_in_the_order_of_their_first_row_and_once() -> None:
    first, second = told_window(window_id="b"), told_window(window_id="a")
    rows = [batch_row(first), batch_row(second), coverage_row(first), *verdict_rows(second, "+")]
    assert index_of(page_of(rows, first, second))["id"] == ["b", "a"]


def test_conclusions_that_only_a_row_knows_are_shown_too() -> None:
    window = told_window()
    bare = window.model_copy(update={"conclusions": ()})
    rows = [*verdict_rows(window, "+"), coverage_row(window, conclusion_ids=())]
    [told] = lines(page_of(rows, bare))
    assert [one[0] for one in told["conclusions"]] == ["ana moved to Porto"]


def test_a_row_that_names_an_unknown_conclusion_is_refused() -> None:
    window = told_window()
    row = coverage_row(window, fact_of(status="COVERED", covering=("nobody",)))
    with pytest.raises(RunError, match="conclusion nobody, which its window does not have"):
        page_of([row], window)


def test_a_row_without_its_window_is_refused() -> None:
    with pytest.raises(RunError, match="no such window"):
        page_of([batch_row(told_window())])


def test_calls_and_provenance_are_those_of_each_instrument() -> None:
    [told] = lines(told_page())
    assert [call[0] for call in told["coverage"]["calls"]] == ["coverage.gold"]
    assert [call[0] for call in told["batch"]["calls"]] == ["set_level.judge"]
    shared = json.loads(block(told_page(), "shared"))
    assert ["Judge model", "judge-1"] in shared["provenance"][told["batch"]["provenance"]]


def test_a_choice_that_an_item_has_twice_counts_once() -> None:
    facet = Facet()
    for choices in (["a", "b", "a"], ["a"], []):
        facet.add(choices)
    assert facet.values == {
        "choices": [["a", 2], ["b", 1]],
        "rows": [[0, 1], [0], []],
    }


def test_hostile_text_opens_no_tag_and_closes_no_block(hostile: str) -> None:
    def page(text: str) -> str:
        window = told_window(
            text, f"{text}2", window_id=text, messages=(text,), conversation_id=text
        )
        one, two = ids_of(window)
        fact = fact_of(fact=text, category=text, topic=text, source_span=text, why=text,
                       licensed_inference=text, status="COVERED", covering=(one,))  # fmt: skip
        question = question_of(question=text, gold_answer=text, written_answer=text, why=text,
                               source_span=text, conclusion_ids=(two,))  # fmt: skip
        coverage = coverage_row(
            window,
            fact,
            questions=(question,),
            dropped=(dropped_of(fact=text, source_span=text, detail=text),),
            conclusion_topics={one: text, two: text},
            topics_unjudged=None,
        )
        batch = batch_row(window, issue_of(one, two, evidence=text), string_repeats=((one, two),))
        return page_of([*verdict_rows(window, "-+"), coverage, batch], window)

    tags = re.compile(r"<[a-zA-Z/!]+")
    assert tags.findall(page(hostile)) == tags.findall(page("harmless"))
    [told] = lines(page(hostile))
    assert told["id"] == hostile
    assert told["coverage"]["facts"][0]["fact"] == hostile
    assert told["coverage"]["questions"][0]["written"] == hostile
    assert told["batch"]["issues"][0][3] == hostile
    assert index_of(page(hostile))["id"] == [hostile]


def test_the_page_needs_no_network_and_allows_its_own_script_alone() -> None:
    page = told_page()
    assert not re.search(r"https?://|url\(|@import|\ssrc=", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = html.unescape(policy[1]).split("; ")
    assert rules[0] == "default-src 'none'"
    assert f"script-src {script_hash(page_script())}" in rules
    assert f"<script>{page_script()}</script>" in page


def test_the_script_never_reads_data_as_markup() -> None:
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in page_script()


def test_the_page_is_written_whole_and_for_its_owner_alone(
    tmp_path: Path, make_info: MakeInfo
) -> None:
    window = told_window()
    path = write_windows(tmp_path, make_info(), told_rows(window), {"w1": window})
    assert path == tmp_path / "windows.html"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["windows.html"]


def test_the_policy_of_the_run_weighs_the_figures(make_info: MakeInfo) -> None:
    window = told_window()
    info = make_info()
    strict = info.coverage_policy.model_copy(update={"partial_credit": 0.0})
    pieces = windows_pieces(make_info(coverage_policy=strict), told_rows(window), {"w1": window})
    page = "".join(pieces)
    assert index_of(page)["coverage"] == ["70.0 %"]

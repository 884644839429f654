"""The page of windows in a real browser, opened from a file, with the page of cases beside it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from evals.judging.case import Row
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.report.cases import write_cases
from evals.report.windows import write_windows
from evals.runs.stored import rows_of
from tests.browser.chromium import browser, needs_chromium
from tests.report.conftest import info_of
from tests.report.window_rows import (
    batch_row,
    coverage_row,
    dropped_of,
    fact_of,
    ids_of,
    issue_of,
    question_of,
    told_rows,
    told_window,
    unjudged_coverage,
    verdict_rows,
)

Open = Callable[..., webdriver.Chrome]

__all__ = ["browser"]
pytestmark = needs_chromium


@pytest.fixture
def open_page(browser: webdriver.Chrome, tmp_path: Path) -> Open:
    def open_rows(
        rows: Sequence[Row], windows: Sequence[Window], fragment: str = ""
    ) -> webdriver.Chrome:
        by_id = {window.window_id: window for window in windows}
        write_cases(tmp_path, info_of(), rows_of(ConclusionRow, rows), by_id)
        path = write_windows(tmp_path, info_of(), rows, by_id)
        browser.get("about:blank")
        browser.get(f"{path.as_uri()}{fragment}")
        return browser

    return open_rows


@pytest.fixture
def many() -> tuple[list[Row], list[Window]]:
    """The told window, one with nothing to find, one unjudged, and 60 with a missing fact."""
    told, calm, late = (told_window(window_id=name) for name in ("w1", "calm/1 b", "late"))
    rows: list[Row] = [*told_rows(told), coverage_row(calm), unjudged_coverage(late)]
    more = [told_window(window_id=f"more {number}") for number in range(60)]
    rows += [coverage_row(window, fact_of(fact=f"fact of {window.window_id}")) for window in more]
    return rows, [told, calm, late, *more]


Many = tuple[list[Row], list[Window]]


def status(page: webdriver.Chrome) -> str:
    return page.find_element(By.ID, "status").text


def names(page: webdriver.Chrome) -> list[str]:
    script = "return [...document.querySelectorAll('.items .conclusion')].map(e => e.innerText)"
    found: list[str] = page.execute_script(script)
    return found


def unfolded(page: webdriver.Chrome) -> WebElement:
    return WebDriverWait(page, 20).until(
        lambda page: page.find_element(By.CSS_SELECTOR, ".items details[open] .findings")
    )


def complaints(page: webdriver.Chrome) -> list[Any]:
    log: list[Any] = page.get_log("browser")  # type: ignore[no-untyped-call]
    return log


def test_windows_with_missing_facts_come_first_and_fill_pages(open_page: Open, many: Many) -> None:
    page = open_page(*many)
    assert status(page) == "63 of 63 windows. Showing 1–50."  # noqa: RUF001
    assert names(page)[:2] == ["w1", "more 0"]
    page.find_element(By.XPATH, "//button[.='Last']").click()
    assert names(page)[-2:] == ["late", "calm/1 b"]
    assert complaints(page) == []


@pytest.mark.parametrize(
    ("show", "first", "count"), [("missing", "w1", 61), ("issues", "w1", 1), ("unjudged", "w1", 2)]
)
def test_windows_are_shown_by_what_they_hold(
    open_page: Open, many: Many, show: str, first: str, count: int
) -> None:
    page = open_page(*many)
    page.find_element(By.CSS_SELECTOR, f".choices label.{show}").click()
    assert status(page).startswith(f"{count} of 63 windows.")
    assert names(page)[0] == first
    assert page.current_url.endswith(f"#?show={show}")


def test_filters_of_the_report_are_followed(open_page: Open, many: Many) -> None:
    page = open_page(*many, "#?composite=lost")
    assert names(page) == ["w1"]
    assert Select(page.find_element(By.ID, "composite")).first_selected_option.text == "lost (1)"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("play CHESS", 1),
        ("where does ana", 1),
        ("fact of more 59", 1),
        ("cat named Miro", 63),
        ("no answer within", 2),
        ("calm/1", 1),
        ("dropped_questions", 0),
        ("(.*[", 0),
    ],
)
def test_the_search_finds_text_of_every_kind_and_no_field_names(
    open_page: Open, many: Many, words: str, count: int
) -> None:
    rows, windows = many
    if words == "play CHESS":
        windows = [
            windows[0],
            *(window.model_copy(update={"messages": ()}) for window in windows[1:]),
        ]
    page = open_page(rows, windows)
    page.find_element(By.ID, "q").send_keys(words)
    WebDriverWait(page, 20).until(lambda _: status(page).startswith(f"{count} of 63"))


def test_a_deep_link_opens_its_window_on_its_page(open_page: Open, many: Many) -> None:
    page = open_page(*many, "#calm/1%20b")
    text = unfolded(page).text
    assert "The window holds none." in text
    node = page.find_element(By.CSS_SELECTOR, ".items details[open]")
    assert node.get_attribute("data-item") == "calm/1 b"
    assert 0 <= page.execute_script("return arguments[0].getBoundingClientRect().top", node) < 700


def test_an_unknown_window_is_said_to_be_unknown(open_page: Open, many: Many) -> None:
    page = open_page(*many, "#nowhere")
    assert "There is no window nowhere in this run." in status(page)


def test_one_follows_a_conclusion_to_its_case_and_comes_back(open_page: Open, many: Many) -> None:
    page = open_page(*many, "#w1")
    unfolded(page).find_element(By.CSS_SELECTOR, "[data-fact=g2] td:last-child a").click()
    WebDriverWait(page, 20).until(lambda page: "/cases.html#" in page.current_url)
    assert (
        "ana lives in Porto"
        in page.find_element(By.CSS_SELECTOR, "#cases details[open] summary").text
    )
    unfolded(page)
    page.find_element(By.CSS_SELECTOR, ".window h3 a").click()
    WebDriverWait(page, 20).until(lambda page: page.current_url.endswith("/windows.html#w1"))
    assert "Gold facts (7)" in unfolded(page).text
    assert complaints(page) == []


def test_a_window_shows_all_that_was_found(open_page: Open) -> None:
    window = told_window()
    page = open_page(told_rows(window), [window], "#w1")
    told = unfolded(page).text
    for wanted in (
        "ana plays chess",
        "Extracted by the judge.",
        "topic: games",
        "IMPORTANT\nimplicit",
        "Questions (4), answered from the conclusions alone",
        "Lisbon",
        "ANSWERABLE_WRONG by the judge",
        "another city",
        "Unjudged, timeout: no answer within 60 s",
        "2 more dropped",
        "TEMPORAL_CONFUSION",
        "both say where ana lives",
        "Repeats in the same words, found without a judge",
        "Dropped facts (2), in no score",
        "ana is a person",
        "Conclusions (4)",
        "unknown_slots",
        "Judge answers (1)",
    ):
        assert wanted in told
    script = (
        "return [...document.querySelectorAll('[data-fact] td:first-child')].map(e => e.innerText)"
    )
    statuses = [" ".join(text.split()) for text in page.execute_script(script)]
    assert statuses == [
        "COVERED kept", "COVERED lost", "MISSING", "PARTIAL", "COVERED unknown", "MISSING",
        "MISSING",
    ]  # fmt: skip
    gaps = page.find_elements(By.CSS_SELECTOR, "tr.gap")
    assert [gap.get_attribute("data-fact") for gap in gaps] == ["g3"]


def test_spans_are_marked_in_their_own_message_alone(open_page: Open) -> None:
    window = told_window(messages=("I play chess", "They play chess too", "My cat Miro is three."))
    fact = fact_of(source_span="play chess", message_id="m2")
    cat = fact_of("g2", source_span="cat Miro is three", message_id="m3")
    question = question_of(source_span="My cat Miro", message_id="m3")
    page = open_page([coverage_row(window, fact, cat, questions=(question,))], [window], "#w1")
    unfolded(page)
    marks = page.find_elements(By.CSS_SELECTOR, ".window .text mark")
    assert [(mark.text.strip(), mark.get_attribute("class")) for mark in marks] == [
        ("play chess", "gold"),
        ("My", "question"),
        ("cat Miro", "gold question"),
        ("is three", "gold"),
    ]
    assert marks[2].get_attribute("title") == "gold fact g2, question q1"


def test_an_unjudged_window_says_what_and_why(open_page: Open) -> None:
    window = told_window()
    page = open_page([unjudged_coverage(window)], [window], "#w1")
    told = unfolded(page).text
    assert "Gold, timeout: no answer within 60 s" in told
    assert "Not run: the set-level bench has no row of this window." in told
    assert "Gold facts" not in told
    assert complaints(page) == []


def test_hostile_text_stays_text(open_page: Open, hostile: str) -> None:
    window = told_window(
        hostile, f"{hostile}2", window_id=hostile, messages=(hostile,), peer_id=hostile
    )
    one, two = ids_of(window)
    fact = fact_of(fact=hostile, category=hostile, topic=hostile, source_span=hostile, why=hostile,
                   status="COVERED", covering=(one, two))  # fmt: skip
    coverage = coverage_row(
        window,
        fact,
        questions=(question_of(question=hostile, written_answer=hostile, message_id="m1"),),
        dropped=(dropped_of(fact=hostile, detail=hostile),),
        conclusion_topics={one: hostile, two: hostile},
    )
    rows = [
        *verdict_rows(window, "-+"),
        coverage,
        batch_row(window, issue_of(one, two, evidence=hostile)),
    ]
    page = open_page(rows, [window])
    page.find_element(By.CSS_SELECTOR, ".items summary").click()
    unfolded(page)
    with pytest.raises(NoAlertPresentException):
        _ = page.switch_to.alert.text
    assert page.find_elements(By.CSS_SELECTOR, "img, svg, iframe, embed, object") == []
    assert page.execute_script("return document.scripts.length") == 3  # index, shared, the code
    shown = page.execute_script("return document.querySelector('.window .text').textContent")
    assert shown == hostile
    assert complaints(page) == []


def test_a_page_without_rows_says_so(open_page: Open) -> None:
    page = open_page([], [])
    assert status(page) == "This run holds no windows."
    assert complaints(page) == []


@pytest.mark.parametrize("width_px", [360, 1280])
def test_nothing_runs_over_the_edge(open_page: Open, width_px: int) -> None:
    window = told_window("x" * 3000, "b", window_id="w" * 300, messages=("y" * 3000,))
    one, two = ids_of(window)
    fact = fact_of(fact="f" * 3000, category="c" * 300, topic="t" * 300, status="COVERED",
                   covering=(one,), source_span="y" * 3000)  # fmt: skip
    rows = [
        *verdict_rows(window, "-+"),
        coverage_row(window, fact, questions=(question_of(gold_answer="g" * 3000),)),
        batch_row(window, issue_of(one, two, evidence="e" * 3000)),
    ]
    page = open_page(rows, [window])
    size = {"width": width_px, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.find_element(By.CSS_SELECTOR, ".items summary").click()
    unfolded(page)
    reach = page.execute_script("return document.documentElement.scrollWidth")
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert reach <= width_px

"""The page of cases in a real browser, opened from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from evals.premise.row import ConclusionRow
from evals.records import Unjudged, Window
from evals.report.cases import write_cases
from evals.report.paged import PAGE_ITEMS
from evals.runs.record import RunInfo
from tests.browser.chromium import browser, needs_chromium

MakeRow = Callable[..., ConclusionRow]
MakeWindow = Callable[..., Window]
MakeInfo = Callable[..., RunInfo]
Open = Callable[..., webdriver.Chrome]

__all__ = ["browser"]
pytestmark = needs_chromium


@pytest.fixture
def open_page(browser: webdriver.Chrome, tmp_path: Path, make_info: MakeInfo) -> Open:
    def open_rows(
        rows: list[ConclusionRow], windows: list[Window], fragment: str = ""
    ) -> webdriver.Chrome:
        by_id = {window.window_id: window for window in windows}
        path = write_cases(tmp_path, make_info(), rows, by_id)
        browser.get("about:blank")
        browser.get(f"{path.as_uri()}{fragment}")
        return browser

    return open_rows


def cases(page: webdriver.Chrome) -> list[WebElement]:
    return page.find_elements(By.CSS_SELECTOR, "#cases > li > details")


def conclusions(page: webdriver.Chrome) -> list[str]:
    # In one go: the page may redraw its list between two looks at it.
    script = "return [...document.querySelectorAll('#cases .conclusion')].map(e => e.innerText)"
    found: list[str] = page.execute_script(script)
    return found


def status(page: webdriver.Chrome) -> str:
    return page.find_element(By.ID, "status").text


def unfold(page: webdriver.Chrome, case: WebElement) -> WebElement:
    case.find_element(By.TAG_NAME, "summary").click()
    return body(page, case)


def body(page: webdriver.Chrome, case: WebElement) -> WebElement:
    waiting = WebDriverWait(page, 20)
    return waiting.until(lambda _: case.find_element(By.CSS_SELECTOR, ".body .findings"))


def choose(page: webdriver.Chrome, field: str, value: str) -> None:
    Select(page.find_element(By.ID, field)).select_by_value(value)


def complaints(page: webdriver.Chrome) -> list[Any]:
    log: list[Any] = page.get_log("browser")  # type: ignore[no-untyped-call]
    return log


@pytest.fixture
def many(make_row: MakeRow, make_window: MakeWindow) -> tuple[list[ConclusionRow], list[Window]]:
    window = make_window("I moved to Porto in March", "the keel is cracked")
    sound = [make_row(f"sound {number}", window=window, ordinal=number) for number in range(100)]
    unsound = [
        make_row(
            f"unsound {number}",
            window=window,
            ordinal=100 + number,
            slots=[("TIME", "PRESENT_IN_WINDOW" if number % 2 else "ABSENT_EVERYWHERE", "x")],
            decontextuality=number / 30,
            labels=["relative date"] if number < 3 else [],
        )
        for number in range(30)
    ]
    late = Unjudged(reason="timeout", detail="no answer within 60 s")
    unjudged = make_row("unjudged", window=window, ordinal=200, unjudged=late)
    return [*sound, unjudged, *unsound], [window]


Many = tuple[list[ConclusionRow], list[Window]]


def test_hostile_text_stays_text(
    open_page: Open, make_row: MakeRow, make_window: MakeWindow, hostile: str
) -> None:
    window = make_window(hostile, window_id=hostile, peer_id=hostile, conversation_id=hostile)
    row = make_row(
        hostile,
        window=window,
        case_id=hostile,
        slots=[(hostile, "PRESENT_IN_WINDOW", hostile)],
        unsupported=[(hostile, hostile, hostile)],
        labels=[hostile],
    )
    page = open_page([row], [window])
    unfold(page, cases(page)[0])
    with pytest.raises(NoAlertPresentException):
        _ = page.switch_to.alert.text
    assert page.find_elements(By.CSS_SELECTOR, "img, svg, iframe, embed, object") == []
    assert page.execute_script("return document.scripts.length") == 3  # index, shared, the code
    shown = page.execute_script("return document.querySelector('.window .text').textContent")
    assert shown == hostile
    assert complaints(page) == []


def test_the_page_lists_unsound_conclusions_first_and_turns_pages(
    open_page: Open, many: Many
) -> None:
    page = open_page(*many)
    assert status(page) == "131 of 131 conclusions. Showing 1–50."  # noqa: RUF001
    assert conclusions(page)[0] == "unsound 0"
    assert conclusions(page)[30] == "unjudged"
    assert len(cases(page)) == PAGE_ITEMS
    page.find_element(By.XPATH, "//button[.='Next']").click()
    assert status(page).endswith("Showing 51–100.")  # noqa: RUF001
    assert conclusions(page)[0] == "sound 19"
    page.find_element(By.XPATH, "//button[.='Last']").click()
    assert len(cases(page)) == 31
    assert not page.find_element(By.XPATH, "//button[.='Next']").is_enabled()


def test_verdicts_filter_the_list_and_stay_in_the_address(open_page: Open, many: Many) -> None:
    page = open_page(*many)
    page.find_element(By.CSS_SELECTOR, "#verdicts label.unsound").click()
    assert status(page) == "30 of 131 conclusions. Showing 1–30."  # noqa: RUF001
    assert page.current_url.endswith("#?verdict=unsound")
    choose(page, "attribution", "PRESENT_IN_WINDOW")
    assert status(page).startswith("15 of 131")
    choose(page, "label", "relative date")
    assert conclusions(page) == ["unsound 1"]
    page.find_element(By.CSS_SELECTOR, "button[type=reset]").click()
    WebDriverWait(page, 20).until(lambda _: status(page).startswith("131 of 131"))


def test_filters_in_the_address_are_followed(open_page: Open, many: Many) -> None:
    page = open_page(*many, "#?verdict=unsound&attribution=ABSENT_EVERYWHERE&order=decon-down")
    assert status(page).startswith("15 of 131")
    assert conclusions(page)[:2] == ["unsound 28", "unsound 26"]
    assert Select(page.find_element(By.ID, "attribution")).first_selected_option.text == (
        "ABSENT_EVERYWHERE (15)"
    )


def test_a_fragment_opens_its_case_on_its_page(open_page: Open, many: Many) -> None:
    row = many[0][90]
    page = open_page(*many, f"#{row.case_id}")
    [case] = [found for found in cases(page) if found.get_attribute("open")]
    assert "sound 90" in case.text
    assert "Somebody says: sound 90" in body(page, case).text
    assert page.switch_to.active_element.text.startswith("sound\nsound 90")
    top = page.execute_script("return arguments[0].getBoundingClientRect().top", case)
    assert 0 <= top < 100


def test_a_fragment_overrides_a_filter_that_hides_its_case(open_page: Open, many: Many) -> None:
    page = open_page(*many, "#?verdict=unjudged")
    assert conclusions(page) == ["unjudged"]
    page.execute_script("location.hash = arguments[0]", many[0][3].case_id)
    waiting = WebDriverWait(page, 20)
    waiting.until(lambda _: [case for case in cases(page) if case.get_attribute("open")])
    assert page.find_element(By.ID, "verdict-all").is_selected()


def test_an_unknown_fragment_is_said_to_be_unknown(open_page: Open, many: Many) -> None:
    page = open_page(*many, "#no/such-case%ZZ")
    assert "There is no case no/such-case%ZZ in this run." in status(page)


def test_the_search_finds_conclusions_and_reasons(open_page: Open, many: Many) -> None:
    page = open_page(*many)
    field = page.find_element(By.ID, "q")
    field.send_keys("UNSOUND 2")
    # The list can be drawn anew while it is being read.
    waiting = WebDriverWait(page, 20, ignored_exceptions=[StaleElementReferenceException])
    waiting.until(lambda _: status(page).startswith("11 of 131"))
    field.clear()
    field.send_keys("no answer within 60 s")
    waiting.until(lambda _: conclusions(page) == ["unjudged"])
    field.clear()
    field.send_keys("(.*[")
    waiting.until(lambda _: status(page).startswith("0 of 131"))


def test_the_order_sorts_by_score(open_page: Open, many: Many) -> None:
    page = open_page(*many)
    choose(page, "order", "decon-down")
    assert conclusions(page)[0] == "unsound 29"
    choose(page, "order", "decon-up")
    assert conclusions(page)[:2] == ["unsound 0", "unsound 1"]
    page.find_element(By.XPATH, "//button[.='Last']").click()
    assert conclusions(page)[-1] == "unjudged"
    choose(page, "order", "trace")
    assert conclusions(page)[0] == "sound 0"


@pytest.mark.parametrize(
    ("evidence", "marked"),
    [
        ("I moved to Porto in March", ["I moved to Porto in March"]),
        ('ana says "moved to Porto" herself', ["moved to Porto"]),
        (
            "she says 'Don\u2019t tell' and \u201cin  march.\u201d",
            ["in March", "Don't  tell"],
        ),
        ("m2: she doesn't want it told", []),
        ("nothing", []),
    ],
)
def test_evidence_found_in_a_message_is_marked(
    open_page: Open, make_row: MakeRow, make_window: MakeWindow, evidence: str, marked: list[str]
) -> None:
    window = make_window("I moved to Porto in March,\nbut marching on", "Don't  tell Bruno")
    row = make_row(window=window, slots=[("TIME", "PRESENT_IN_WINDOW", evidence)])
    page = open_page([row], [window])
    unfold(page, cases(page)[0])
    marks = page.find_elements(By.CSS_SELECTOR, ".window .text mark.evidence")
    assert [mark.get_property("textContent") for mark in marks] == marked
    cited = page.find_elements(By.CSS_SELECTOR, ".window li.cited")
    assert len(cited) == evidence.count("m2")


def test_unsupported_words_are_marked_in_the_conclusion(
    open_page: Open, make_row: MakeRow, make_window: MakeWindow
) -> None:
    window = make_window("I moved to Braga")
    row = make_row(
        "ana moved to Porto in March", window=window,
        unsupported=[("in march", "FABRICATION", "no month is named")],
    )  # fmt: skip
    page = open_page([row], [window])
    unfold(page, cases(page)[0])
    mark = page.find_element(By.CSS_SELECTOR, ".conclusion mark.unsupported")
    assert mark.text == "in March"
    assert "no month is named" in page.find_element(By.CSS_SELECTOR, ".findings").text


def test_a_case_shows_all_that_was_found(
    open_page: Open, make_row: MakeRow, make_window: MakeWindow
) -> None:
    window = make_window("one\ntwo", earlier_messages=make_window("a", "b").messages)
    row = make_row(
        "ana is 34",
        window=window,
        slots=[("TIME", "ABSENT_FROM_WINDOW", "an earlier talk")],
        labels=["age"],
        time_status="UNANCHORED",
        attribution_unjudged=Unjudged(reason="timeout", detail="late"),
    )
    page = open_page([row], [window])
    told = unfold(page, cases(page)[0]).text
    for wanted in (
        "unknown_slots a stranger would have to settle open slots",
        "time_status it needs a date and has none",
        "Somebody says: ana is 34",
        "an earlier talk",
        "gave nothing: timeout: late",
        "ana can be met in Porto",
        "Interpretation: MATCH",
        "Preserved.",
        "UNANCHORED",
        "pass 1:",
        "moved to Porto",
        "Judge answers (2)",
    ):
        assert wanted in told
    aside = page.find_element(By.CSS_SELECTOR, ".window").text
    assert "2 earlier messages, not shown" in aside
    assert "one\ntwo" in aside
    assert "2026-06-04 12:01:00 UTC" in aside


def test_an_unjudged_case_says_why(
    open_page: Open, make_row: MakeRow, make_window: MakeWindow
) -> None:
    window = make_window()
    row = make_row(window=window, unjudged=Unjudged(reason="refused", detail="the model declined"))
    page = open_page([row], [window])
    told = unfold(page, cases(page)[0]).text
    assert "refused: the model declined" in told
    assert "Pass 2\nNot answered." in told
    assert complaints(page) == []


def test_a_page_without_rows_says_so(open_page: Open) -> None:
    page = open_page([], [])
    assert status(page) == "This run holds no conclusions."
    assert not page.find_element(By.ID, "pager").is_displayed()
    assert complaints(page) == []


def test_the_page_works_by_keyboard_alone(open_page: Open, many: Many) -> None:
    page = open_page(*many)
    page.find_element(By.CSS_SELECTOR, "#cases summary").send_keys(Keys.ENTER)
    assert "Somebody says: unsound 0" in body(page, cases(page)[0]).text
    page.find_element(By.ID, "verdict-all").send_keys(Keys.ARROW_RIGHT)
    assert status(page).startswith("30 of 131")


@pytest.mark.parametrize("width_px", [360, 1280])
def test_nothing_runs_over_the_edge(
    open_page: Open, make_row: MakeRow, make_window: MakeWindow, width_px: int
) -> None:
    window = make_window("y" * 3000, window_id="w" * 200)
    row = make_row("x" * 3000, window=window, labels=["l" * 300] * 9, peer_id="p" * 300)
    page = open_page([row], [window])
    size = {"width": width_px, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    unfold(page, cases(page)[0])
    reach = page.execute_script("return document.documentElement.scrollWidth")
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert reach <= width_px

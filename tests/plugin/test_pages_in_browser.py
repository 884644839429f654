"""Both pages of a real run, from a file: filter to unsound, follow a row to its case."""

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.chromium import browser, needs_chromium
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import Evaluations, MakeTrace

__all__ = ["browser"]
pytestmark = needs_chromium

HOSTILE = "<img src=x onerror=alert(1)>"


def shown_verdicts(page: webdriver.Chrome) -> list[str]:
    cells = page.find_elements(By.CSS_SELECTOR, "td.col-verdict")
    return [cell.text for cell in cells if cell.is_displayed()]


def test_report_filters_to_unsound_and_leads_to_the_case(
    browser: webdriver.Chrome,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    trace = make_trace(4, 5, peer=HOSTILE, extra=f" {HOSTILE}")
    run = evaluations.run("evals/premise", "--traces", str(trace), api=messages_api)
    outcomes = [row["outcome"] for row in run.rows]
    assert set(outcomes) == {"sound", "unsound"}

    browser.get((run.run_dir / "report.html").as_uri())
    WebDriverWait(browser, 20).until(lambda page: len(shown_verdicts(page)) == 20)
    for outcome in ("sound", "unjudged"):
        box = browser.find_element(By.CSS_SELECTOR, f'input[data-test-result="{outcome}"]')
        if box.is_enabled():
            box.click()
    assert shown_verdicts(browser) == ["unsound"] * outcomes.count("unsound")

    row = next(
        cell.find_element(By.XPATH, "..")
        for cell in browser.find_elements(By.CSS_SELECTOR, "td.col-verdict")
        if cell.is_displayed()
    )
    link = row.find_element(By.CSS_SELECTOR, 'a[href^="cases.html#"]')
    text = link.text
    assert HOSTILE in text
    assert "<" not in row.find_element(By.CSS_SELECTOR, "td.col-testId").text
    link.click()

    WebDriverWait(browser, 20).until(
        lambda page: page.current_url.split("#")[0].endswith("cases.html")
    )
    case = WebDriverWait(browser, 20).until(
        lambda page: page.find_element(By.CSS_SELECTOR, "#cases details[open]")
    )
    assert case.find_element(By.CSS_SELECTOR, ".conclusion").text.startswith(text.rstrip("…"))
    assert HOSTILE in case.text  # conclusion, peer and message, all as text
    assert browser.find_elements(By.CSS_SELECTOR, 'img[src="x"]') == []
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert.text
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]  # the library's own gap
    assert [entry for entry in log if entry["level"] == "SEVERE"] == []

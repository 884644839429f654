"""A run too large to draw whole: what its page shows, counts and says; and what no run leaves."""

import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.chromium import browser, needs_chromium
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import ROOT, Evaluations, Finished, MakeTrace, write_trace
from tests.report.page_blocks import Reader, lines

__all__ = ["browser"]

PREMISE = "evals/premise"
SHOWN, SAMPLE = 8, 3
SMALL_TABLE = f"""
from evals.report import shown

shown.SHOWN_ROWS = {SHOWN}
shown.LEAST_SAMPLE = {SAMPLE}
"""
"""A plugin that makes 30 conclusions a large run."""

HARD_CASES = """
import pytest

def pytest_runtest_call(item):
    if "w0001" in item.nodeid:
        raise RuntimeError("hard failure")
    if "w0002" in item.nodeid:
        pytest.skip("not today")
"""
ONE_FAILURE = """
def pytest_runtest_call(item):
    if "w0001/000" in item.nodeid:
        raise RuntimeError("hard failure")
"""


@pytest.fixture
def small_table(tmp_path: Path) -> list[str]:
    (tmp_path / "small_table.py").write_text(SMALL_TABLE, encoding="utf-8")
    return ["-p", "small_table"]


def drawn_in(page: str) -> list[dict[str, Any]]:
    """Return pytest-html's rows, in the order in which it keeps them."""
    blob = re.search(r'data-jsonblob="([^"]*)"', page)
    assert blob is not None
    tests = json.loads(html.unescape(blob[1]))["tests"]
    return [row for rows in tests.values() for row in rows]


def counts_in(page: str) -> dict[str, int]:
    """Return what stands beside each checkbox."""
    found = re.findall(r'<span class="(\w+)">(\d+) [^<]*</span>', page)
    return {name: int(count) for name, count in found if int(count)}


class Large:
    """Runs over the same 30 conclusions on one store."""

    def __init__(self, folder: Path, api: MessagesApi) -> None:
        self._evaluations = Evaluations(folder)
        self._api = api
        self._trace = str(write_trace(folder / "trace.jsonl", 6, 5))
        (folder / "small_table.py").write_text(SMALL_TABLE, encoding="utf-8")

    def run(self, *arguments: str) -> Finished:
        self._api.reset()  # the tests between two runs have had it do otherwise
        own = ("--traces", self._trace, "-p", "small_table")
        return self._evaluations.run(PREMISE, *own, *arguments, api=self._api)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, messages_api_process: MessagesApi) -> Large:
    return Large(tmp_path_factory.mktemp("large"), messages_api_process)


@pytest.fixture(scope="module")
def large_run(large: Large) -> Finished:
    return large.run()


@pytest.fixture(scope="module")
def large_run_of_two(large: Large) -> Finished:
    return large.run("-n", "2")


@pytest.mark.parametrize("name", ["large_run", "large_run_of_two"])
def test_a_large_run_draws_findings_and_a_sample_and_counts_every_row(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Finished = request.getfixturevalue(name)
    assert run.code == 0, run.output
    outcomes = Counter(row["outcome"] for row in run.rows)
    assert outcomes["unsound"] > SHOWN
    assert outcomes["sound"] > SAMPLE

    page = (run.run_dir / "report.html").read_text(encoding="utf-8")
    drawn = [row["verdict"] for row in drawn_in(page)]
    assert drawn == ["unsound"] * SHOWN + ["sound"] * SAMPLE
    assert counts_in(page) == {"passed": 30, **outcomes}
    assert '<p class="run-count">30 tests took' in page
    said = Reader(page).words
    assert f"The table shows {SHOWN + SAMPLE} of 30 rows" in said
    assert f"{SHOWN} of {outcomes['unsound']} unsound" in said
    assert f"{SAMPLE} of {outcomes['sound']} sound" in said
    assert f"{outcomes['sound']}/30" in said  # the pass rate, over every row
    assert '<a href="rows.jsonl">' in page
    assert (run.run_dir / "rows.jsonl").is_file()
    cases = (run.run_dir / "cases.html").read_text(encoding="utf-8")
    assert len(lines(cases)) == 30
    assert {path.stat().st_mode & 0o777 for path in run.run_dir.iterdir()} == {0o600}


def test_the_same_answers_draw_the_same_rows(large: Large, large_run: Finished) -> None:
    pages = [(run.run_dir / "report.html").read_text("utf-8") for run in (large_run, large.run())]
    first, again = [[row["testId"] for row in drawn_in(page)] for page in pages]
    assert first == again
    assert len(set(first)) == SHOWN + SAMPLE


def test_what_failed_or_was_skipped_comes_first_and_is_counted_where_it_is_not_drawn(
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
    small_table: list[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "hard_cases.py").write_text(HARD_CASES, encoding="utf-8")
    run = evaluations.run(
        PREMISE,
        *("--traces", str(make_trace(6, 5)), *small_table, "-p", "hard_cases"),
        api=messages_api,
    )
    assert run.code == 1, run.output
    page = (run.run_dir / "report.html").read_text(encoding="utf-8")
    drawn = Counter(row["result"] for row in drawn_in(page))
    assert drawn["Failed"] + drawn["Skipped"] == SHOWN
    assert drawn["Passed"] == SAMPLE
    counts = counts_in(page)
    assert counts["failed"] == counts["skipped"] == 5
    assert counts["passed"] == 20
    assert counts["sound"] + counts["unsound"] == len(run.rows)
    assert f"{SHOWN} of 10 failed or skipped, 0 of " in Reader(page).words
    assert "RuntimeError: hard failure" in page


def test_a_run_that_fits_says_nothing_of_rows_left_out(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    run = evaluations.run(PREMISE, "--traces", str(make_trace(3, 4)), api=messages_api)
    page = (run.run_dir / "report.html").read_text(encoding="utf-8")
    drawn = drawn_in(page)
    assert [row["verdict"] for row in drawn] == [row["outcome"] for row in run.rows]
    assert counts_in(page) == {"passed": 12, **Counter(row["outcome"] for row in run.rows)}
    assert "The table shows" not in page


def test_a_page_that_is_asked_for_after_each_test_has_every_row(
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
    small_table: list[str],
) -> None:
    run = evaluations.run(
        PREMISE,
        *("--traces", str(make_trace(3, 4)), *small_table, "-o", "generate_report_on_test=true"),
        api=messages_api,
    )
    page = (run.run_dir / "report.html").read_text(encoding="utf-8")
    assert len(drawn_in(page)) == 12
    assert counts_in(page) == {"passed": 12, **Counter(row["outcome"] for row in run.rows)}


@needs_chromium
def test_the_filters_of_a_large_run_count_all_and_hide_what_is_drawn(
    browser: webdriver.Chrome, large_run: Finished
) -> None:
    run = large_run
    browser.get((run.run_dir / "report.html").as_uri())

    def shown() -> list[str]:
        cells = browser.find_elements(By.CSS_SELECTOR, "td.col-verdict")
        return [cell.text for cell in cells if cell.is_displayed()]

    WebDriverWait(browser, 20).until(lambda _: len(shown()) == SHOWN + SAMPLE)
    browser.find_element(By.CSS_SELECTOR, 'input[data-test-result="unsound"]').click()
    assert shown() == ["sound"] * SAMPLE
    notice = browser.find_element(By.CSS_SELECTOR, '[aria-label="Rows shown"]')
    assert notice.is_displayed()
    notice.find_element(By.LINK_TEXT, "unsound conclusions").click()
    unsound = sum(row["outcome"] == "unsound" for row in run.rows)
    WebDriverWait(browser, 20).until(
        lambda page: f"{unsound} of 30 conclusions." in page.find_element(By.ID, "status").text
    )


def cached_in(evaluations: Evaluations) -> dict[str, str]:
    """Return name -> content of what pytest keeps from run to run."""
    values = evaluations.folder / "cache" / "v" / "cache"
    return {path.name: path.read_text(encoding="utf-8") for path in values.glob("*")}


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_judging_a_trace_adds_nothing_to_pytests_cache(
    workers: list[str], evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(2, 2))
    run = evaluations.run(PREMISE, "--traces", trace, *workers, api=messages_api)
    assert run.code == 0, run.output
    assert not [text for text in cached_in(evaluations).values() if "w0001" in text]


def test_what_failed_is_remembered_and_selected_alone(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi, tmp_path: Path
) -> None:
    (tmp_path / "one_failure.py").write_text(ONE_FAILURE, encoding="utf-8")
    trace = ["--traces", str(make_trace(3, 2))]
    failed = evaluations.run(PREMISE, *trace, "-p", "one_failure", api=messages_api)
    assert failed.code == 1, failed.output
    assert set(cached_in(evaluations)) == {"lastfailed"}
    [failed_id] = json.loads(cached_in(evaluations)["lastfailed"])
    assert "w0001/000" in failed_id

    again = evaluations.run(PREMISE, *trace, "--lf", api=messages_api)
    assert again.code == 0, again.output
    assert [f"[{row['case_id']}]" in failed_id for row in again.rows] == [True]
    assert json.loads(cached_in(evaluations)["lastfailed"]) == {}


def test_a_run_that_asks_for_what_is_new_remembers_and_has_it_first(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    for windows in (2, 3):
        trace = str(make_trace(windows, 2))
        run = evaluations.run(PREMISE, "--nf", "--traces", trace, api=messages_api)
        assert run.code == 0, run.output
    windows_judged = [row["provenance"]["window_id"] for row in run.rows]
    assert windows_judged == ["w0002"] * 2 + ["w0000"] * 2 + ["w0001"] * 2
    assert len(json.loads(cached_in(evaluations)["nodeids"])) == 6


def test_bare_pytest_knows_nothing_of_evaluations_and_remembers_ids_as_ever(
    evaluations: Evaluations,
) -> None:
    run = evaluations.run("tests/test_untrusted.py", "-q", cwd=ROOT)
    assert run.code == 0, run.output
    assert "judge:" not in run.output
    assert not run.run_dir.exists()
    assert "tests/test_untrusted.py::" in cached_in(evaluations)["nodeids"]

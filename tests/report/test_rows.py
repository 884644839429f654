import html
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.premise.row import ConclusionRow
from evals.records import Unjudged
from evals.report import rows
from evals.report.rows import RowCells, cells_of, empty_cells, header_cells, row_cells
from tests.report.window_rows import (
    LATE,
    batch_row,
    coverage_row,
    fact_of,
    ids_of,
    issue_of,
    question_of,
    told_rows,
    told_window,
    unjudged_batch,
    unjudged_coverage,
)

MakeRow = Callable[..., ConclusionRow]
ROOT = Path(__file__).parents[2]

HOOKS = """
import json
import pytest
from evals.premise.row import ConclusionRow
from evals.report.rows import filter_css, filter_outcomes, header_cells, row_cells
from pathlib import Path

LINES = (Path(__file__).parent / "rows.jsonl").read_text(encoding="utf-8").split("\\n")
ROWS = [ConclusionRow.model_validate_json(line) for line in LINES if line]

def pytest_generate_tests(metafunc):
    metafunc.parametrize("number", range(len(ROWS)))

def pytest_html_report_title(report):
    report.outcomes.update(filter_outcomes())

def pytest_html_results_table_header(cells):
    cells[1:1] = header_cells()

def pytest_html_results_table_row(report, cells):
    cells[1:1] = row_cells(ROWS[int(report.nodeid.split("[")[1][:-1])])

def pytest_html_results_summary(prefix):
    prefix.append(f"<style>{filter_css()}</style>")
"""


@pytest.fixture
def report_of(tmp_path: Path) -> Callable[[list[ConclusionRow]], str]:
    def run(given: list[ConclusionRow]) -> str:
        lines = "\n".join(row.model_dump_json() for row in given)
        (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
        (tmp_path / "conftest.py").write_text(HOOKS, encoding="utf-8")
        (tmp_path / "test_it.py").write_text("def test_c(number): pass", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   "--html=report.html", "--self-contained-html"]  # fmt: skip
        subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, env={"PYTHONPATH": str(ROOT)}
        )
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return run


def table_of(page: str) -> list[dict[str, Any]]:
    blob = re.search(r'data-jsonblob="([^"]*)"', page)
    assert blob is not None
    tests = json.loads(html.unescape(blob[1]))["tests"]
    return [test for runs in tests.values() for test in runs]


def test_a_row_shows_what_one_sorts_by_and_links_to_its_case(make_row: MakeRow) -> None:
    row = make_row(
        "ana is 34",
        slots=[("TIME", "PRESENT_IN_WINDOW", "m1"), ("PLACE", "ABSENT_EVERYWHERE", "")],
        labels=["relative date", "age"],
        decontextuality=0.49,
        case_id="w1/000-ab",
    )
    assert row_cells(row) == (
        "<td class=col-verdict data-v=unsound>unsound</td>",
        "<td class=col-links><a href=cases.html#w1/000-ab>ana is 34</a></td>",
        "<td class=col-score>0.49 / 0.70</td>",
        "<td class=col-time>ANCHORED_CORRECTLY</td>",
        "<td class=col-attr>ABSENT_EVERYWHERE PRESENT_IN_WINDOW</td>",
        "<td>relative date, age</td>",
    )


def test_an_unjudged_row_has_dashes_and_no_number(make_row: MakeRow) -> None:
    cells = row_cells(make_row(unjudged=Unjudged(reason="timeout", detail="late")))
    assert cells.verdict == "<td class=col-verdict data-v=unjudged>unjudged</td>"
    assert cells.score == "<td class=col-score>– / –</td>"  # noqa: RUF001
    assert cells.time_status == "<td class=col-time>–</td>"  # noqa: RUF001


def test_rows_and_headers_have_the_same_columns() -> None:
    assert len(header_cells()) == len(empty_cells()) == len(RowCells._fields)
    assert all(re.fullmatch(r"<th[^>]*>[^<]*</th>", cell) for cell in header_cells())


def test_hostile_text_cannot_leave_its_cell(make_row: MakeRow, hostile: str) -> None:
    cells = row_cells(make_row(hostile, labels=[hostile], case_id=hostile))
    for cell in cells:
        assert len(re.findall(r"<", cell)) == (4 if "<a " in cell else 2)
    assert re.fullmatch(r"<td class=col-links><a href=[\w.#/%~-]+>[^<]*</a></td>", cells.conclusion)


def test_a_long_conclusion_and_many_labels_are_cut(make_row: MakeRow) -> None:
    cells = row_cells(make_row("x" * 5000, labels=[f"label {number}" for number in range(50)]))
    assert sum(map(len, cells)) < 500
    assert "…" in cells.conclusion
    assert "…" in cells.labels


def test_pytest_html_reads_the_sortable_values_back(
    report_of: Callable[[list[ConclusionRow]], str], make_row: MakeRow
) -> None:
    given = [make_row("a", slots=[("TIME", "PRESENT_IN_WINDOW", "x")]), make_row("b")]
    first, second = table_of(report_of(given))
    assert (first["verdict"], first["time"], first["attr"]) == (
        "unsound",
        "ANCHORED_CORRECTLY",
        "PRESENT_IN_WINDOW",
    )
    assert second["score"] == "0.90 / 0.95"


def test_a_row_stays_well_under_a_kilobyte(
    report_of: Callable[[list[ConclusionRow]], str], make_row: MakeRow
) -> None:
    row = make_row(
        "ana's sister Irena, who lives in Brno, asked ana on 2026-03-14 to be godmother to her son",
        slots=[("TIME", "PRESENT_IN_WINDOW", "x")],
        labels=["relative date", "missing object", "bundled claims"],
        time_status="ANCHORED_TO_BAD_TIMESTAMP",
    )
    few, many = report_of([row] * 10), report_of([row] * 210)
    native = 623  # what pytest-html itself takes for a row with its four columns
    assert (len(many.encode()) - len(few.encode())) / 200 - native < 900


def test_each_filter_names_its_checkbox_and_its_rows() -> None:
    for outcome, entry in rows.filter_outcomes().items():
        assert entry["value"] == 0
        rule = next(line for line in rows.filter_css().split("\n") if f"data-v={outcome}]" in line)
        assert f'input[data-test-result="{outcome}"]:not(:checked)' in rule


def test_each_run_counts_its_filters_afresh() -> None:
    rows.filter_outcomes()["sound"]["value"] = 7
    assert rows.filter_outcomes()["sound"]["value"] == 0


def test_a_window_shows_what_was_covered_and_answered() -> None:
    *_, coverage, _ = told_rows(told_window())
    line = "window: 3 of 7 gold facts covered, 1 of 3 questions right (1 unjudged)"
    assert cells_of(coverage) == (
        "<td class=col-verdict data-v=scored>scored</td>",
        f"<td class=col-links><a href=windows.html#w1>{line}</a></td>",
        "<td class=col-score>–</td>",  # noqa: RUF001
        "<td class=col-time>–</td>",  # noqa: RUF001
        "<td class=col-attr>–</td>",  # noqa: RUF001
        "<td></td>",
    )


def test_a_batch_shows_its_groups_and_contradictions() -> None:
    window = told_window()
    cells = cells_of(batch_row(window, issue_of(*ids_of(window)[:2])))
    assert cells.conclusion == (
        "<td class=col-links><a href=windows.html#w1>"
        "batch of 4: 1 redundancy group, 0 contradictions</a></td>"
    )


def test_a_conclusion_has_the_same_cells_through_either_door(make_row: MakeRow) -> None:
    assert cells_of(make_row()) == row_cells(make_row())


def test_what_is_unjudged_says_why_and_shows_no_number() -> None:
    window = told_window()
    matching = coverage_row(
        window,
        fact_of(status=None, why=None),
        outcome="unjudged",
        unjudged=LATE,
        matching_unjudged=LATE,
        questions=(question_of(grade=None, graded_by=None, unjudged=LATE),),
    )
    for row, line in (
        (unjudged_batch(window), "batch of 4: unjudged (timeout)"),
        (
            unjudged_coverage(window),
            "window: gold unjudged (timeout), questions unjudged (timeout)",
        ),
        (
            matching,
            "window: 1 gold fact, matching unjudged (timeout), 0 of 0 questions right (1 unjudged)",
        ),
    ):
        assert cells_of(row).verdict == "<td class=col-verdict data-v=unjudged>unjudged</td>"
        assert f">{line}</a>" in cells_of(row).conclusion


def test_a_hostile_window_id_cannot_leave_its_cell(hostile: str) -> None:
    window = told_window(window_id=hostile)
    for row in (coverage_row(window, fact_of()), batch_row(window)):
        assert re.fullmatch(
            r"<td class=col-links><a href=windows\.html#[\w./%~-]+>[^<]*</a></td>",
            cells_of(row).conclusion,
        )


def test_pytest_html_reads_the_cells_of_windows_back_and_filters_them() -> None:
    assert list(rows.filter_outcomes()) == ["sound", "unsound", "unjudged", "scored"]
    assert "data-v=scored" in rows.filter_css()

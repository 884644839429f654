from collections import Counter
from itertools import pairwise

import pytest

from evals.report.shown import (
    LEAST_SAMPLE,
    SHOWN_ROWS,
    RowKind,
    choose_rows,
    shown_rows_html,
)
from tests.report.page_blocks import Reader

LARGE = 50_000


def run_of(**every: int) -> list[RowKind]:
    """Return the kinds of a large run: of each kind named, every so-manieth row; else sound."""
    kinds: list[RowKind] = ["sound"] * LARGE
    for name, step in every.items():
        kind: RowKind = name  # type: ignore[assignment]  # keywords are plain strings
        kinds[step // 2 :: step] = [kind] * len(kinds[step // 2 :: step])
    return kinds


@pytest.mark.parametrize("number", [0, 1, SHOWN_ROWS])
def test_a_run_that_fits_is_drawn_whole_and_as_it_ended(number: int) -> None:
    kinds: list[RowKind] = (["sound", "unsound", "failed"] * SHOWN_ROWS)[:number]  # type: ignore[assignment]  # a list of literals
    choice = choose_rows(kinds)
    assert choice.places == tuple(range(number))
    assert choice.is_whole
    assert shown_rows_html(choice) == ""


def test_one_row_more_leaves_rows_out_and_says_so() -> None:
    choice = choose_rows(["sound"] * (SHOWN_ROWS + 1))
    assert not choice.is_whole
    assert "The table shows 1,500 of 1,501 rows" in Reader(shown_rows_html(choice)).words


def test_every_finding_is_drawn_before_a_sample_fills_the_table() -> None:
    kinds = run_of(unsound=100, unjudged=1_000, failed=10_000)
    choice = choose_rows(kinds)
    drawn = [kinds[place] for place in choice.places]
    counts = Counter(kinds)
    findings = counts["failed"] + counts["unjudged"] + counts["unsound"]
    assert drawn == [
        *(["failed"] * counts["failed"]),
        *(["unjudged"] * counts["unjudged"]),
        *(["unsound"] * counts["unsound"]),
        *(["sound"] * (SHOWN_ROWS - findings)),
    ]


def test_too_many_findings_are_cut_from_the_least_urgent_up() -> None:
    kinds = run_of(unsound=2, unjudged=1_000)
    choice = choose_rows(kinds)
    unjudged = kinds.count("unjudged")
    assert choice.shown == {
        "unjudged": unjudged,
        "unsound": SHOWN_ROWS - unjudged,
        "sound": LEAST_SAMPLE,
    }
    assert choice.all == Counter(kinds)
    assert sum(choice.all.values()) == LARGE


def test_failures_alone_fill_no_more_than_their_share() -> None:
    choice = choose_rows(run_of(failed=1))
    assert choice.shown == {"failed": SHOWN_ROWS}
    assert choice.all == {"failed": LARGE}


@pytest.mark.parametrize("kind", ["unsound", "sound"])
def test_what_is_drawn_of_a_kind_is_spread_evenly_over_the_run(kind: RowKind) -> None:
    kinds = run_of(unsound=2)
    places = [place for place in choose_rows(kinds).places if kinds[place] == kind]
    step = LARGE / len(places)
    assert places == sorted(set(places))
    assert places[0] <= step
    assert places[-1] >= LARGE - step
    gaps = [later - earlier for earlier, later in pairwise(places)]
    assert max(gaps) <= 2 * step


@pytest.mark.parametrize("period", [2, 3, 5, 7, 10, 20, 33, 50, 100])
def test_a_kind_that_comes_in_a_rhythm_has_its_share_of_the_sample(period: int) -> None:
    choice = choose_rows(run_of(scored=period))
    assert choice.shown["scored"] == pytest.approx(SHOWN_ROWS / period, rel=0.2)


def test_tests_without_a_verdict_are_in_the_sample() -> None:
    assert set(choose_rows(run_of(scored=10, other=100)).shown) == {"sound", "scored", "other"}


def test_the_same_rows_give_the_same_choice() -> None:
    kinds = run_of(unsound=3, unjudged=7)
    assert choose_rows(kinds) == choose_rows(list(kinds))


def test_the_page_says_how_many_of_what_and_where_the_others_are() -> None:
    page = shown_rows_html(choose_rows(run_of(unsound=2, unjudged=1_000, failed=10_000)))
    reader = Reader(page)
    said = reader.words
    assert "The table shows 1,800 of 50,000 rows" in said
    assert "all 5 failed or skipped, all 50 unjudged, 1,445 of " in said
    assert f"{LEAST_SAMPLE} of " in said
    assert "Every figure and every count on this page is over all 50,000 rows." in said
    links = {value for name, value in reader.attributes if name == "href"}
    assert links == {"cases.html#?verdict=unsound", "cases.html", "windows.html", "rows.jsonl"}


def test_a_run_of_windows_alone_leads_to_no_page_of_conclusions() -> None:
    page = shown_rows_html(choose_rows(["scored"] * LARGE))
    links = {value for name, value in Reader(page).attributes if name == "href"}
    assert links == {"windows.html", "rows.jsonl"}

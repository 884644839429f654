import pytest

from evals.report.text import columns, cut


def test_text_that_fits_is_left_alone() -> None:
    assert cut("ana moved", 9) == "ana moved"


def test_a_cut_shows_and_keeps_to_the_limit() -> None:
    assert cut("ana moved to Porto", 10) == "ana moved…"


@pytest.mark.parametrize(
    "text", ["結論の結論の結論", "ana の結論 x 結論", "e\u0301" * 30, "x" * 10_000]
)
@pytest.mark.parametrize("limit", [1, 2, 7, 12])
def test_no_text_takes_more_columns_than_allowed(text: str, limit: int) -> None:
    assert columns(cut(text, limit)) <= limit


def test_east_asian_characters_take_two_columns() -> None:
    assert columns("結論") == 4
    assert columns("ab") == 2


def test_combining_marks_take_none() -> None:
    assert columns("e\u0301") == 1


def test_control_and_bidirectional_characters_do_not_survive(hostile: str) -> None:
    shown = cut(hostile, 60)
    assert not set(shown) & set("\x1b\x07\n\r\u202e\u2028")


def test_nothing_stays_nothing() -> None:
    assert cut("", 10) == ""

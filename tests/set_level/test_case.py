"""Cases: one a window with a conclusion, with ids that are unique, stable and safe everywhere."""

import re
from collections.abc import Callable

import pytest

from evals.errors import TraceError
from evals.records import Window
from evals.set_level.case import SetLevelCase, set_level_cases
from evals.set_level.render import load_set_level_prompts

MakeWindow = Callable[..., Window]


def cases_of(*windows: Window) -> tuple[SetLevelCase, ...]:
    return set_level_cases(iter(windows), load_set_level_prompts())


def test_one_case_a_window_with_a_conclusion_in_order(make_window: MakeWindow) -> None:
    first = make_window(["vince rows", "vince rows"], window_id="first")
    empty = make_window([], window_id="empty")
    last = make_window(["vince sings"], window_id="last")
    cases = cases_of(first, empty, last)
    assert [case.window for case in cases] == [first, last]
    assert [case.case_id for case in cases] == ["first", "last"]


@pytest.mark.parametrize(
    "window_id", ["../../etc/passwd", "window ☃\x1b[31m", "窓", "", "a" * 300, "x[y]::z -k"]
)
def test_ids_are_safe_whatever_the_window_is_called(
    make_window: MakeWindow, window_id: str
) -> None:
    (case,) = cases_of(make_window(window_id=window_id))
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}", case.case_id)


def test_windows_whose_slugs_are_equal_keep_distinct_ids(make_window: MakeWindow) -> None:
    names = ["a b", "a/b", "plain", "a-b\ud800"]
    cases = cases_of(*(make_window(window_id=name) for name in names))
    ids = [case.case_id for case in cases]
    assert len(set(ids)) == 4
    assert ids[2] == "plain"
    assert all(re.fullmatch(r"a-b-[0-9a-f]{12}", ids[place]) for place in (0, 1, 3))
    # Neither the order nor what else is in the run changes them.
    again = cases_of(*(make_window(window_id=name) for name in ["a/b", "a b"]))
    assert [case.case_id for case in again] == [ids[1], ids[0]]


def test_the_same_window_twice_is_refused(make_window: MakeWindow) -> None:
    windows = [make_window(window_id="w\x1b[1m"), make_window(window_id="w\x1b[1m")]
    with pytest.raises(TraceError, match="2 windows with this id") as caught:
        cases_of(*windows)
    assert caught.value.where == "window w-1m"
    assert "each trace once" in caught.value.todo


def test_a_window_without_conclusions_twice_is_no_matter(make_window: MakeWindow) -> None:
    assert cases_of(make_window([]), make_window([])) == ()

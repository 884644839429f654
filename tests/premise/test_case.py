"""Cases: one a conclusion, with ids that are unique, stable and safe everywhere."""

import re
from collections.abc import Callable

import pytest

from evals.errors import TraceError
from evals.premise.case import premise_cases
from evals.premise.render import load_premise_prompts
from evals.records import Window

MakeWindow = Callable[..., Window]


def test_one_case_a_conclusion_in_order(make_window: MakeWindow) -> None:
    windows = [
        make_window(conclusions=["vince rows", "vince rows"], window_id="first"),
        make_window(conclusions=[], window_id="empty"),
        make_window(conclusions=["vince sings"], window_id="last"),
    ]
    cases = premise_cases(iter(windows), load_premise_prompts())
    assert [(case.window.window_id, case.conclusion.text) for case in cases] == [
        ("first", "vince rows"),
        ("first", "vince rows"),
        ("last", "vince sings"),
    ]
    first = windows[0].conclusions[0].conclusion_id
    assert cases[0].case_id == f"first/000-{first}"
    assert len({case.case_id for case in cases}) == 3
    assert cases[0].texts is cases[1].texts


@pytest.mark.parametrize(
    "window_id", ["../../etc/passwd", "window ☃\x1b[31m", "窓", "", "a" * 300, "x[y]::z -k"]
)
def test_ids_are_safe_whatever_the_window_is_called(
    make_window: MakeWindow, window_id: str
) -> None:
    (case,) = premise_cases([make_window(window_id=window_id)], load_premise_prompts())
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,40}/000-[0-9a-f]{16}", case.case_id)
    assert not case.case_id.startswith(".")


def test_windows_whose_slugs_are_equal_keep_distinct_ids(make_window: MakeWindow) -> None:
    windows = [make_window(window_id=name) for name in ("a b", "a/b", "a-b")]
    cases = premise_cases(windows, load_premise_prompts())
    assert len({case.case_id for case in cases}) == 3


def test_the_same_window_twice_is_refused(make_window: MakeWindow) -> None:
    windows = [make_window(), make_window()]
    with pytest.raises(TraceError, match="2 conclusions with this id") as caught:
        premise_cases(windows, load_premise_prompts())
    assert "w1/000-" in caught.value.where
    assert "each trace once" in caught.value.todo

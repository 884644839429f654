"""A weighted share and its interval, which is over windows."""

from typing import Any

import pytest

from evals.coverage.share import Share, share_of
from evals.metrics import rate_of


def test_one_window_has_no_interval() -> None:
    share = share_of([[(4, 1), (4, 0)]])
    assert (share.value, share.low, share.high) == (0.5, None, None)


def test_the_interval_is_over_windows_and_not_over_facts() -> None:
    # Facts of a window stand or fall together: ten windows of ten equal facts each are ten draws.
    windows = [[(1.0, float(number < 5))] * 10 for number in range(10)]
    share = share_of(windows)
    assert share.value == 0.5
    assert share.low is not None
    assert share.high is not None
    # A Wilson interval over the ten windows is 0.24 to 0.76, over the hundred facts 0.40 to 0.60.
    of_windows = rate_of(number < 5 for number in range(10))
    assert of_windows.low == pytest.approx(share.low, abs=0.07)
    assert of_windows.high == pytest.approx(share.high, abs=0.07)


def test_equal_windows_have_an_interval_of_one_point() -> None:
    share = share_of([[(4, 1), (4, 0)]] * 3)
    assert (share.low, share.value, share.high) == (0.5, 0.5, 0.5)


def test_a_heavy_window_weighs_more() -> None:
    light = [[(1.0, 0.0)]] * 9
    assert share_of([*light, [(9.0, 1.0)]]).value == 0.5
    assert share_of([*light, [(1.0, 1.0)]]).value == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([], (None, 0, 0, 0, 0)),
        ([None, None], (None, 0, 0, 0, 2)),
        ([[], [(0, 1)]], (None, 0, 0, 0, 0)),
        ([[(2, None)], [(1, 1)]], (1, 1, 1, 1, 0)),
        ([[(2, 1), (0, None)]], (1, 1, 0, 1, 0)),
    ],
)
def test_what_a_share_counts(windows: list[Any], expected: tuple[float | None, ...]) -> None:
    share: Share = share_of(windows)
    counted = (share.value, share.n, share.unjudged, share.windows, share.unjudged_windows)
    assert counted == expected

from dataclasses import replace

import pytest

from evals.judging.headers import QuotaKind, QuotaLeft
from evals.judging.quota import Quotas
from tests.judging.helpers import Clock


class Line:
    """Quotas with a told clock; calls are begun as soon as nothing holds them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.quotas = Quotas(300, self.clock)

    def begin_all(self, most: int = 1000) -> list[int]:
        numbers: list[int] = []
        while len(numbers) < most and self.quotas.hold_s() == 0:
            numbers.append(self.quotas.begin())
        return numbers

    def answer(self, number: int, *left: QuotaLeft) -> None:
        self.quotas.hear(number, left)
        self.quotas.end(number)


LEFT_3 = QuotaLeft("requests", limit=50, remaining=3, reset_in_s=20.0)


def test_who_knows_of_no_quota_holds_nobody() -> None:
    line = Line()
    assert len(line.begin_all(500)) == line.quotas.in_flight == line.quotas.begun == 500


def test_no_more_calls_are_begun_than_are_left_before_the_reset() -> None:
    line = Line()
    (first,) = line.begin_all(1)
    line.answer(first, LEFT_3)
    assert len(line.begin_all()) == 3
    assert line.quotas.hold_s() == 20
    line.clock.now_s = 19.5
    assert line.begin_all() == []
    assert line.quotas.hold_s() == 0.5


def test_after_the_reset_a_full_quota_is_begun_and_no_more() -> None:
    line = Line()
    (first,) = line.begin_all(1)
    line.answer(first, LEFT_3)
    line.clock.now_s = 20.0
    assert len(line.begin_all()) == 50
    assert 0 < line.quotas.hold_s() <= 60


def test_looking_changes_nothing() -> None:
    """Another thread looks."""
    line = Line()
    (first,) = line.begin_all(1)
    line.answer(first, replace(LEFT_3, limit=1))
    line.begin_all()
    line.clock.now_s = 20.0
    assert line.quotas.hold_s() == 0
    line.clock.now_s = 50.0
    assert len(line.begin_all()) == 1
    # Of a minute that begins with the call, not with the look.
    assert line.quotas.hold_s() == 60


def test_a_quota_of_unknown_size_holds_nobody_after_its_reset() -> None:
    line = Line()
    (first,) = line.begin_all(1)
    line.answer(first, replace(LEFT_3, limit=None))
    line.clock.now_s = 20.0
    assert len(line.begin_all(500)) == 500


def test_what_was_begun_after_the_answered_call_is_taken_off_what_is_left() -> None:
    line = Line()
    numbers = line.begin_all(10)
    line.answer(numbers[7], LEFT_3)
    assert len(line.begin_all()) == 1


@pytest.mark.parametrize("most", [1, 16, 64])
def test_a_large_quota_never_holds_anybody(most: int) -> None:
    line = Line()
    left = QuotaLeft("requests", limit=1000, remaining=most + 1, reset_in_s=60.0)
    in_flight = line.begin_all(most)
    for _ in range(2000):
        line.answer(in_flight.pop(0), left)
        assert line.quotas.hold_s() == 0
        in_flight.append(line.quotas.begin())


def test_an_answer_to_a_later_call_replaces_what_is_known_and_an_earlier_one_does_not() -> None:
    line = Line()
    early, middle, late = line.begin_all(3)
    line.answer(middle, replace(LEFT_3, remaining=1))
    assert line.quotas.hold_s() == 20
    line.answer(early, replace(LEFT_3, remaining=40))
    assert line.quotas.hold_s() == 20
    line.answer(late, replace(LEFT_3, remaining=4))
    assert len(line.begin_all()) == 4


@pytest.mark.parametrize("reset_in_s", [0.0, -30.0, 301.0, 1e12])
def test_a_reset_in_the_past_or_absurdly_far_holds_nobody(reset_in_s: float) -> None:
    line = Line()
    (first,) = line.begin_all(1)
    line.answer(first, replace(LEFT_3, remaining=0, reset_in_s=reset_in_s))
    assert line.quotas.hold_s() == 0


def test_a_quota_that_is_full_again_ends_what_an_earlier_answer_held() -> None:
    line = Line()
    early, late = line.begin_all(2)
    line.answer(early, replace(LEFT_3, remaining=0))
    assert line.quotas.hold_s() == 20
    line.answer(late, replace(LEFT_3, remaining=50, reset_in_s=-0.2))
    assert line.quotas.hold_s() == 0


@pytest.mark.parametrize(
    ("kind", "calls"), [("input-tokens", 10), ("output-tokens", 100), ("tokens", 9)]
)
def test_tokens_left_are_counted_in_calls_of_the_size_seen_so_far(
    kind: QuotaKind, calls: int
) -> None:
    line = Line()
    first, second, third = line.begin_all(3)
    line.quotas.count_tokens(input_tokens=50, output_tokens=15)
    line.quotas.count_tokens(input_tokens=150, output_tokens=5)
    line.answer(first)
    line.answer(second)
    left = QuotaLeft(kind, limit=4000, remaining=1000, reset_in_s=30.0)
    line.answer(third, left)
    assert len(line.begin_all()) == calls
    line.clock.now_s = 30.0
    assert len(line.begin_all()) == 4 * calls


def test_the_tightest_quota_decides() -> None:
    line = Line()
    (first,) = line.begin_all(1)
    tokens = QuotaLeft("output-tokens", limit=8000, remaining=0, reset_in_s=45.0)
    line.answer(first, LEFT_3, tokens)
    assert line.quotas.hold_s() == 45


def test_a_full_quota_smaller_than_one_call_still_lets_one_begin() -> None:
    line = Line()
    (first,) = line.begin_all(1)
    line.quotas.count_tokens(input_tokens=500, output_tokens=5)
    line.answer(first, QuotaLeft("input-tokens", limit=100, remaining=0, reset_in_s=1.0))
    line.clock.now_s = 1.0
    assert len(line.begin_all()) == 1

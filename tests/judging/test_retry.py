from math import inf

import pytest

from evals.judging.retry import RetryPolicy, Tries
from evals.judging.transport import AttemptError
from tests.judging.helpers import Clock

POLICY = RetryPolicy(
    max_attempts=3,
    attempt_timeout_s=1,
    first_wait_s=2,
    longest_wait_s=10,
    longest_pause_s=5,
    longest_retry_after_s=100,
    outage_s=60,
)
FAILURE = AttemptError("HTTP 500", "retry")
REFUSAL = AttemptError("HTTP 529", "slow_down")


@pytest.mark.parametrize(
    ("attempts", "asked", "chance", "wait_s"),
    [
        (1, None, 0.0, 1.0),
        (1, None, 1.0, 2.0),
        (2, None, 1.0, 4.0),
        (3, None, 0.5, 6.0),
        (4, None, 1.0, 10.0),
        (10_000, None, 1.0, 10.0),
        (1, 30.0, 0.0, 30.0),
        (3, 1.0, 1.0, 8.0),
        (1, 100.0, 0.0, 100.0),
        (1, 101.0, 0.0, 1.0),
        (3, 999_999.0, 1.0, 8.0),
        (1, inf, 0.0, 1.0),
    ],
)
def test_waits_grow_with_jitter_within_bounds_and_honour_retry_after(
    attempts: int, asked: float | None, chance: float, wait_s: float
) -> None:
    assert POLICY.wait_s(attempts, asked, chance) == pytest.approx(wait_s)


@pytest.mark.parametrize(
    ("refusals", "chance", "pause_s"),
    [(1, 0.0, 1.0), (1, 1.0, 2.0), (2, 1.0, 4.0), (3, 1.0, 5.0), (10_000, 0.0, 2.5)],
)
def test_pauses_grow_with_jitter_up_to_a_bound_of_their_own(
    refusals: int, chance: float, pause_s: float
) -> None:
    assert POLICY.pause_s(refusals, chance) == pytest.approx(pause_s)


class Call:
    def __init__(self) -> None:
        self.clock = Clock()
        self.tries = Tries(POLICY, self.clock, lambda: 0.0)

    def meet(self, *failures: AttemptError, every_s: float = 0.0) -> bool:
        for failure in failures:
            self.clock.now_s += every_s
            self.tries.meet(failure)
        return self.tries.are_over


def test_a_call_is_given_up_after_so_many_failures() -> None:
    call = Call()
    assert [call.meet(FAILURE) for _ in range(3)] == [False, False, True]


def test_refusals_count_as_no_attempt() -> None:
    call = Call()
    assert not call.meet(*[REFUSAL] * 100)
    assert [call.meet(FAILURE) for _ in range(3)] == [False, False, True]


def test_a_call_that_is_refused_all_the_time_is_given_up_when_the_outage_is_too_long() -> None:
    call = Call()
    assert not call.meet(*[REFUSAL] * 60, every_s=1)
    assert call.meet(REFUSAL, every_s=1)


def test_another_failure_between_refusals_starts_their_time_anew() -> None:
    call = Call()
    assert not call.meet(REFUSAL, FAILURE, REFUSAL, every_s=50)
    assert not call.meet(REFUSAL, every_s=59)
    assert call.meet(REFUSAL, every_s=1)


@pytest.mark.parametrize(
    ("failure", "waits_s"),
    [
        (FAILURE, [1, 2, 4, 5, 5]),
        (REFUSAL, [1, 2, 2.5, 2.5, 2.5]),
        (AttemptError("HTTP 500", "retry", retry_after_s=3), [3, 3, 4, 5, 5]),
        (AttemptError("HTTP 529", "slow_down", retry_after_s=2), [2, 2, 2.5, 2.5, 2.5]),
        (AttemptError("HTTP 529", "slow_down", retry_after_s=100), [100] * 5),
        (AttemptError("HTTP 529", "slow_down", retry_after_s=inf), [1, 2, 2.5, 2.5, 2.5]),
    ],
)
def test_a_call_waits_longer_each_time(failure: AttemptError, waits_s: list[float]) -> None:
    call = Call()
    found = []
    for _ in waits_s:
        call.meet(failure)
        found.append(call.tries.wait_s)
    assert found == waits_s


def test_a_failure_among_refusals_waits_by_its_own_count() -> None:
    call = Call()
    call.meet(*[REFUSAL] * 5, FAILURE)
    assert call.tries.wait_s == 1
    call.meet(REFUSAL)
    assert call.tries.wait_s == 1

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from evals.judging.headers import QuotaLeft
from evals.judging.limiter import Limiter, Pace
from tests.judging.helpers import Clock, HeldClock, settle


def limiter_of(bound: int, clock: Clock | None = None) -> Limiter:
    """Return a limiter whose pauses are 1, 2, 3, … s."""
    told = clock or Clock()
    return Limiter(bound, pause_s=float, longest_hold_s=300, sleep=told.sleep, clock=told)


class Crowd:
    """Callers that each hold a slot until they are told to leave."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.inside: dict[int, int] = {}
        self.most = 0
        self._leave: dict[int, asyncio.Event] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def come(self, *names: int) -> None:
        for name in names:
            self._leave[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._stay(name))
            await settle()

    async def _stay(self, name: int) -> None:
        async with self.limiter.slot() as number:
            self.inside[name] = number
            self.most = max(self.most, len(self.inside))
            await self._leave[name].wait()
            del self.inside[name]

    async def go(self, *names: int) -> None:
        for name in names:
            self._leave[name].set()
        await settle()

    async def cancel(self, name: int) -> None:
        self._tasks[name].cancel()
        self.inside.pop(name, None)
        await settle()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


def test_no_more_than_the_bound_run_at_once_first_come_first_served() -> None:
    async def test() -> None:
        crowd = Crowd(limiter_of(2))
        await crowd.come(1, 2, 3, 4)
        assert sorted(crowd.inside) == [1, 2]
        assert crowd.limiter.in_flight == 2
        await crowd.go(2)
        assert sorted(crowd.inside) == [1, 3]
        await crowd.go(1, 3, 4)
        assert crowd.limiter.in_flight == 0

    run(test())


def refuse(limiter: Limiter, times: int = 1, asked_s: float | None = None) -> int:
    for _ in range(times):
        limiter.slow_down(asked_s)
    return limiter.limit


async def answer(limiter: Limiter, times: int = 1) -> int:
    """Begin and answer calls one after the other; the number allowed after them."""
    for _ in range(times):
        async with limiter.slot() as number:
            limiter.succeed(number)
    return limiter.limit


def test_a_wait_that_the_server_asks_for_holds_everybody() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = limiter_of(4, clock)
        refuse(limiter, asked_s=30)
        assert limiter.hold_s == 30
        starts = []
        for _ in range(3):
            async with limiter.slot():
                starts.append(clock())
        assert starts == [30, 30, 30]

    run(test())


def test_who_stood_in_line_when_the_wait_began_waits_it_out_too() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = limiter_of(1, clock)
        crowd = Crowd(limiter)
        await crowd.come(1, 2)
        refuse(limiter, asked_s=30)
        await crowd.go(1)
        assert list(crowd.inside) == [2]
        assert clock() == 30

    run(test())


def test_a_later_refusal_never_shortens_the_wait() -> None:
    clock = Clock()
    limiter = limiter_of(4, clock)
    refuse(limiter, asked_s=30)
    refuse(limiter, asked_s=1)
    refuse(limiter)
    assert limiter.hold_s == 30


def test_each_refusal_takes_a_place_away_down_to_one_and_holds_nobody_else() -> None:
    async def test() -> None:
        limiter = limiter_of(8)
        crowd = Crowd(limiter)
        await crowd.come(*range(12))
        assert refuse(limiter, 3) == 5
        await crowd.go(0, 1, 2)
        # Those refused came from the eight, so five are left, and nobody new has come.
        assert sorted(crowd.inside) == [3, 4, 5, 6, 7]
        assert limiter.hold_s == 0
        await crowd.go(3)
        assert sorted(crowd.inside) == [4, 5, 6, 7, 8]
        assert refuse(limiter, 4) == 1
        assert limiter.hold_s == 0

    run(test())


def test_one_call_at_a_time_probes_after_growing_pauses() -> None:
    clock = Clock()
    limiter = limiter_of(4, clock)
    assert refuse(limiter, 3) == 1
    pauses = []
    for _ in range(4):
        refuse(limiter)
        pauses.append(limiter.hold_s)
        clock.now_s += limiter.hold_s
    assert pauses == [1, 2, 3, 4]


@pytest.mark.parametrize(("asked_s", "hold_s"), [(0.0, 1.0), (2.0, 2.0), (None, 3.0)])
def test_a_probe_waits_as_long_as_the_server_asks_but_never_not_at_all(
    asked_s: float | None, hold_s: float
) -> None:
    clock = Clock()
    limiter = limiter_of(1, clock)
    for _ in range(2):
        refuse(limiter)
        clock.now_s += limiter.hold_s
    refuse(limiter, asked_s=asked_s)
    assert limiter.hold_s == hold_s


def test_a_probe_that_is_answered_ends_the_pauses() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = limiter_of(1, clock)
        refuse(limiter, 5)
        await answer(limiter)
        refuse(limiter)
        assert limiter.hold_s == 1

    run(test())


def test_a_round_of_successes_gives_a_sixteenth_of_the_bound_back() -> None:
    async def test() -> None:
        limiter = limiter_of(64)
        assert refuse(limiter, 24) == 40
        assert await answer(limiter, 39) == 40
        assert await answer(limiter) == 44
        assert await answer(limiter, 43) == 44
        assert await answer(limiter) == 48

    run(test())


def test_refusals_between_successes_do_not_keep_the_number_from_growing() -> None:
    async def test() -> None:
        limiter = limiter_of(64)
        limits = []
        for _ in range(400):
            await answer(limiter, 9)
            limits.append(refuse(limiter))
        # A tenth refused: about as many places lost in a round as are given back.
        assert all(24 <= limit <= 48 for limit in limits[-100:])

    run(test())


def test_a_server_that_takes_so_many_is_left_with_about_as_many() -> None:
    async def test() -> None:
        limiter = limiter_of(64)
        in_flight = []
        for _ in range(60):
            in_flight.append(limiter.limit)
            taken = min(limiter.limit, 20)
            refuse(limiter, limiter.limit - taken)
            await answer(limiter, taken)
        assert all(20 <= number <= 24 for number in in_flight[1:])

    run(test())


def rounds_to_bound(limiter: Limiter, bound: int) -> list[int]:
    async def test() -> list[int]:
        limits = [limiter.limit]
        while limits[-1] < bound:
            limits.append(await answer(limiter, limits[-1]))
        return limits

    return asyncio.run(asyncio.wait_for(test(), 10))


def test_after_an_outage_the_number_doubles_to_half_of_the_bound_and_then_grows() -> None:
    limiter = limiter_of(64)
    refuse(limiter, 70)
    limits = rounds_to_bound(limiter, 64)
    assert limits == [1, 2, 4, 8, 16, 32, 36, 40, 44, 48, 52, 56, 60, 64]


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 8, 16, 17, 31, 64, 100, 1000])
def test_an_outage_is_made_good_in_at_most_seventeen_rounds(bound: int) -> None:
    limiter = limiter_of(bound)
    refuse(limiter, bound + 5)
    assert limiter.limit == 1
    assert len(rounds_to_bound(limiter, bound)) - 1 <= 17


@pytest.mark.parametrize(("latency_s", "longest_s"), [(0.2, 3.0), (4.0, 60.0)])
def test_sixty_four_callers_are_back_soon_after_an_outage(
    latency_s: float, longest_s: float
) -> None:
    """All wait for an outage of 8 s to end; only the clock of the test passes."""

    async def test() -> None:
        clock = HeldClock()
        limiter = Limiter(
            64, pause_s=lambda n: min(2.0**n, 4.0), longest_hold_s=9, sleep=clock.sleep, clock=clock
        )
        at_64_s: list[float] = []

        async def call() -> None:
            while not at_64_s:
                async with limiter.slot() as number:
                    await clock.sleep(latency_s)
                    if clock() < 8:
                        limiter.slow_down(None)
                    else:
                        limiter.succeed(number)
                if limiter.limit == limiter.in_flight + 1 == 64:
                    at_64_s.append(clock())

        callers = [asyncio.create_task(call()) for _ in range(64)]
        most_probes = 0
        while not at_64_s:
            await settle()
            if 1 <= clock() < 8:
                most_probes = max(most_probes, limiter.in_flight)
            await clock.pass_to(round(clock() + 0.1, 1))
        # The outage, the last pause, and the rounds of successes.
        assert at_64_s[0] <= 8 + 4 + latency_s + longest_s
        assert latency_s > 1 or most_probes == 1
        for caller in callers:
            caller.cancel()

    asyncio.run(asyncio.wait_for(test(), 60))


def test_a_refusal_ends_the_doubling() -> None:
    async def test() -> None:
        limiter = limiter_of(64)
        refuse(limiter, 64)
        assert await answer(limiter, 15) == 16
        assert refuse(limiter) == 15
        assert await answer(limiter, 15) == 19

    run(test())


def test_answers_to_calls_sent_before_an_outage_do_not_end_it() -> None:
    async def test() -> None:
        limiter = limiter_of(8)
        crowd = Crowd(limiter)
        await crowd.come(*range(8))
        refuse(limiter, 8)
        for number in crowd.inside.values():
            limiter.succeed(number)
        assert limiter.limit == 1
        await crowd.go(*range(8))
        assert await answer(limiter) == 2

    run(test())


def test_how_long_nothing_but_refusals_has_come_is_known() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = limiter_of(4, clock)
        assert limiter.refused_for_s == 0
        refuse(limiter)
        clock.now_s = 40
        refuse(limiter)
        assert limiter.refused_for_s == 40
        await answer(limiter)
        assert limiter.refused_for_s == 0

    run(test())


def test_what_a_server_asks_for_is_told_from_a_pause_of_our_own() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = limiter_of(2, clock)
        assert limiter.pace == Pace(2, 2, hold_s=0, is_asked=False, refused_for_s=0)
        refuse(limiter, asked_s=30)
        assert limiter.pace == Pace(1, 2, hold_s=30, is_asked=True, refused_for_s=0)
        clock.now_s = 30
        assert limiter.pace == Pace(1, 2, hold_s=0, is_asked=False, refused_for_s=30)
        refuse(limiter)
        assert limiter.pace == Pace(1, 2, hold_s=1, is_asked=False, refused_for_s=30)
        # The server's wish is over before our own pause is.
        refuse(limiter, asked_s=0.5)
        assert limiter.pace == Pace(1, 2, hold_s=1, is_asked=False, refused_for_s=30)
        await answer(limiter)
        assert limiter.pace == Pace(2, 2, hold_s=0, is_asked=False, refused_for_s=0)

    run(test())


def test_a_quota_that_is_used_up_is_a_hold_that_the_server_asked_for() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = limiter_of(2, clock)
        async with limiter.slot() as number:
            limiter.hear(number, [QuotaLeft("requests", 50, 0, 20.0)])
        assert limiter.pace == Pace(2, 2, hold_s=20, is_asked=True, refused_for_s=0)
        clock.now_s = 20
        assert limiter.pace == Pace(2, 2, hold_s=0, is_asked=False, refused_for_s=0)

    run(test())


def test_who_waits_is_let_in_as_soon_as_the_number_climbs() -> None:
    async def test() -> None:
        limiter = limiter_of(2)
        refuse(limiter)
        crowd = Crowd(limiter)
        await crowd.come(1, 2)
        assert list(crowd.inside) == [1]
        limiter.succeed(crowd.inside[1])
        await settle()
        assert sorted(crowd.inside) == [1, 2]

    run(test())


def test_no_more_are_let_in_than_a_quota_has_left_until_it_is_full_again() -> None:
    async def test() -> None:
        clock = HeldClock()
        limiter = limiter_of(64, clock)
        crowd = Crowd(limiter)
        await crowd.come(*range(5))
        limiter.hear(crowd.inside[4], [QuotaLeft("requests", 50, 3, 20.0)])
        await crowd.come(*range(5, 70))
        assert len(crowd.inside) == 8
        assert limiter.hold_s == 20
        await crowd.go(*range(8))
        assert crowd.inside == {}
        await clock.pass_to(20)
        assert len(crowd.inside) == 50
        await crowd.go(*range(70))
        await clock.pass_to(80)
        await crowd.go(*range(70))

    run(test())


@pytest.mark.parametrize("cancelled", [1, 2])
def test_a_cancelled_caller_leaves_its_place_to_the_next(cancelled: int) -> None:
    async def test() -> None:
        crowd = Crowd(limiter_of(1))
        await crowd.come(1, 2, 3)
        await crowd.cancel(cancelled)
        await crowd.go(*{1, 2} - {cancelled})
        assert list(crowd.inside) == [3]
        await crowd.go(3)
        assert crowd.limiter.in_flight == 0
        assert crowd.most == 1

    run(test())

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any

import pytest

from evals.judging.limiter import Limiter
from tests.judging.helpers import Clock, settle


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
        async with self.limiter.slot() as generation:
            self.inside[name] = generation
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
        crowd = Crowd(Limiter(2))
        await crowd.come(1, 2, 3, 4)
        assert sorted(crowd.inside) == [1, 2]
        assert crowd.limiter.in_flight == 2
        await crowd.go(2)
        assert sorted(crowd.inside) == [1, 3]
        await crowd.go(1, 3, 4)
        assert crowd.limiter.in_flight == 0

    run(test())


def test_a_refusal_makes_everybody_wait_out_the_pause() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = Limiter(4, sleep=clock.sleep, clock=clock)
        async with limiter.slot() as generation:
            limiter.slow_down(30, generation)
        starts = []
        for _ in range(3):
            async with limiter.slot():
                starts.append(clock())
        assert starts == [30, 30, 30]

    run(test())


def test_who_stood_in_line_when_the_pause_began_waits_it_out_too() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = Limiter(1, sleep=clock.sleep, clock=clock)
        crowd = Crowd(limiter)
        await crowd.come(1, 2)
        limiter.slow_down(30, crowd.inside[1])
        await crowd.go(1)
        assert list(crowd.inside) == [2]
        assert clock() == 30

    run(test())


def test_a_later_refusal_never_shortens_the_pause() -> None:
    async def test() -> None:
        clock = Clock()
        limiter = Limiter(4, sleep=clock.sleep, clock=clock)
        limiter.slow_down(30, 0)
        limiter.slow_down(1, 0)
        async with limiter.slot():
            assert clock() == 30

    run(test())


def test_refusals_of_calls_that_were_under_way_together_halve_once() -> None:
    async def test() -> None:
        limiter = Limiter(8)
        crowd = Crowd(limiter)
        await crowd.come(*range(8))
        for generation in list(crowd.inside.values()):
            limiter.slow_down(0, generation)
        assert limiter.limit == 4
        await crowd.go(*range(8))
        await crowd.come(*range(10, 20))
        assert len(crowd.inside) == 4
        limiter.slow_down(0, crowd.inside[10])
        assert limiter.limit == 2

    run(test())


def test_the_number_never_falls_below_one_and_climbs_back_to_the_bound() -> None:
    async def test() -> None:
        limiter = Limiter(3)
        for generation in range(5):
            limiter.slow_down(0, generation)
        assert limiter.limit == 1
        limits = []
        for _ in range(5):
            limiter.succeeded(5)
            limits.append(limiter.limit)
        assert limits == [2, 2, 3, 3, 3]

    run(test())


@pytest.mark.parametrize("bound", [1, 2, 7, 8, 16, 17, 31, 64, 100])
def test_a_halving_is_made_good_in_eight_rounds_of_successes_and_not_in_one(bound: int) -> None:
    async def test() -> None:
        limiter = Limiter(bound)
        limiter.slow_down(0, 0)
        limits = [limiter.limit]
        while limits[-1] < bound:
            for _ in range(limits[-1]):
                assert limiter.limit == limits[-1]
                limiter.succeeded(1)
            limits.append(limiter.limit)
        steps = {after - before for before, after in itertools.pairwise(limits[:-1])}
        assert len(limits) - 1 <= 8
        assert bound < 8 or len(limits) - 1 > 2
        assert len(steps) <= 1

    run(test())


def test_successes_of_calls_sent_before_a_refusal_do_not_undo_it() -> None:
    async def test() -> None:
        limiter = Limiter(8)
        crowd = Crowd(limiter)
        await crowd.come(*range(8))
        generations = list(crowd.inside.values())
        limiter.slow_down(0, generations[0])
        for _ in range(20):
            limiter.succeeded(generations[1])
        assert limiter.limit == 4
        await crowd.go(*range(8))
        await crowd.come(8)
        for _ in range(4):
            limiter.succeeded(crowd.inside[8])
        assert limiter.limit == 5

    run(test())


def test_a_refusal_starts_the_count_of_successes_afresh() -> None:
    async def test() -> None:
        limiter = Limiter(8)
        limiter.slow_down(0, 0)
        for _ in range(3):
            limiter.succeeded(1)
        limiter.slow_down(0, 1)
        limiter.succeeded(2)
        assert limiter.limit == 2
        limiter.succeeded(2)
        assert limiter.limit == 3

    run(test())


def test_who_waits_is_let_in_as_soon_as_the_number_climbs() -> None:
    async def test() -> None:
        limiter = Limiter(2)
        limiter.slow_down(0, 0)
        crowd = Crowd(limiter)
        await crowd.come(1, 2)
        assert list(crowd.inside) == [1]
        limiter.succeeded(1)
        await settle()
        assert sorted(crowd.inside) == [1, 2]

    run(test())


@pytest.mark.parametrize("cancelled", [1, 2])
def test_a_cancelled_caller_leaves_its_place_to_the_next(cancelled: int) -> None:
    async def test() -> None:
        crowd = Crowd(Limiter(1))
        await crowd.come(1, 2, 3)
        await crowd.cancel(cancelled)
        await crowd.go(*{1, 2} - {cancelled})
        assert list(crowd.inside) == [3]
        await crowd.go(3)
        assert crowd.limiter.in_flight == 0
        assert crowd.most == 1

    run(test())

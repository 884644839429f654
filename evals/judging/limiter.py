"""How many HTTP attempts run at once, for all callers of a run together.

At most ``max_in_flight``. An overloaded server (429, 529) slows everybody down, not just the call
that it refused: nobody starts before the time that it asked for has passed, and the number allowed
is halved. From there it grows by a fixed step for every round of successes (as many as are allowed
at once): additive increase, multiplicative decrease. The step is a sixteenth of the bound, rounded
up, so that one halving is made good within eight rounds: with some seconds a call, in about a
minute. (At a bound of 64, one more a round would take 32 rounds; one more a success would double
the number in a round, and be refused again at once.)
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

_ROUNDS_TO_BOUND = 16
"""Rounds of successes that lead from nothing to the bound, at most; half of them from its half."""


class Limiter:
    """Shared by every call of a run. Used on one event loop."""

    def __init__(
        self,
        max_in_flight: int,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start at the bound.

        Args:
            max_in_flight: the bound, at least 1.
            sleep: waits a number of seconds.
            clock: seconds that only grow.
        """
        self._max = max_in_flight
        self._step = math.ceil(max_in_flight / _ROUNDS_TO_BOUND)
        self._sleep = sleep
        self._clock = clock
        self._tokens = anyio.CapacityLimiter(max_in_flight)
        self._limit = max_in_flight
        self._resume_at_s = clock()
        self._generation = 0
        self._successes = 0
        self._in_flight = 0

    @property
    def limit(self) -> int:
        """Attempts allowed at once now, 1 to ``max_in_flight``."""
        return self._limit

    @property
    def in_flight(self) -> int:
        """Attempts running now."""
        return self._in_flight

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a free place, first come first served, and hold it.

        Yields:
            The generation, which ``slow_down`` and ``succeeded`` want back.
        """
        borrower = object()
        while True:
            await self._wait_out_pause()
            await self._tokens.acquire_on_behalf_of(borrower)
            # The server may have asked for a pause while this call stood in line.
            if self._clock() >= self._resume_at_s:
                break
            self._tokens.release_on_behalf_of(borrower)
        self._in_flight += 1
        try:
            yield self._generation
        finally:
            self._in_flight -= 1
            self._tokens.release_on_behalf_of(borrower)

    def slow_down(self, pause_s: float, generation: int) -> None:
        """Pause everybody, and halve what is allowed at once.

        Calls that were under way together are refused together: their first refusal halves, the
        others tell nothing new.

        Args:
            pause_s: from now; never shortens a pause.
            generation: of the slot that was refused.
        """
        self._resume_at_s = max(self._resume_at_s, self._clock() + pause_s)
        if generation == self._generation:
            self._generation += 1
            self._set_limit(max(1, self._limit // 2))

    def succeeded(self, generation: int) -> None:
        """Count a success; a round of them allows more, up to the bound.

        Args:
            generation: of the slot that was answered. A success of a call that was sent before the
                last refusal says nothing of how the server fares since, and is not counted.
        """
        if generation != self._generation or self._limit == self._max:
            return
        self._successes += 1
        if self._successes >= self._limit:
            self._set_limit(min(self._max, self._limit + self._step))

    def _set_limit(self, limit: int) -> None:
        self._successes = 0
        self._limit = limit
        self._tokens.total_tokens = limit

    async def _wait_out_pause(self) -> None:
        while (wait_s := self._resume_at_s - self._clock()) > 0:
            await self._sleep(wait_s)

"""How many HTTP attempts run at once, for all callers of a run together.

At most ``max_in_flight``, and as many as the server takes:

- each refusal (429, 529, or a failure that is everybody's: see ``evals.judging.outages``) takes one
  place away. So a server that takes 20 of 64 is left with 20, one that refuses a tenth of the calls
  with a tenth less, and one that refuses everything with one call at a time, as soon as all that
  was in flight is refused;
- while one call at a time is allowed, each refusal makes everybody wait, and longer each time: the
  next call is a probe of whether the server is back. Where the server says how long to wait,
  everybody waits as long, whatever the number allowed;
- a round of successes (as many as are allowed at once) gives a sixteenth of the bound back, rounded
  up. After an outage, when the number fell to one, it is doubled instead until it is at half of the
  bound or a call is refused: at a bound of 64, 13 rounds lead from 1 back to 64, which is 3 s at
  0.2 s a call, and a minute at 5 s a call.

What the server's rate-limit headers say is left is kept too (see ``evals.judging.quota``).
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import NamedTuple

import anyio

from evals.judging.headers import QuotaLeft
from evals.judging.quota import Quotas

_ROUNDS_TO_BOUND = 16
"""Rounds of successes that lead from nothing to the bound, by the fixed step alone."""


class Pace(NamedTuple):
    """What the server lets a run do at one moment."""

    limit: int
    """Attempts allowed at once, 1 to ``max_in_flight``."""
    max_in_flight: int
    hold_s: float
    """Seconds until the next attempt may be begun, if a place is free; 0: now."""
    is_asked: bool
    """Whether the server asked for this hold; otherwise it is a pause between two probes."""
    refused_for_s: float
    """Seconds since the first refusal after which nothing was answered; 0 after an answer."""


class Limiter:
    """Shared by every call of a run. Used on one event loop."""

    def __init__(
        self,
        max_in_flight: int,
        *,
        pause_s: Callable[[int], float],
        longest_hold_s: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start at the bound.

        Args:
            max_in_flight: the bound, at least 1.
            pause_s: seconds to wait after a number of probes, from 1, that were refused in a row.
            longest_hold_s: a rate-limit header that would hold callers for longer is not believed.
            sleep: waits a number of seconds.
            clock: seconds that only grow.
        """
        self._max = max_in_flight
        self._step = math.ceil(max_in_flight / _ROUNDS_TO_BOUND)
        self._pause_s = pause_s
        self._sleep = sleep
        self._clock = clock
        self._limit = max_in_flight
        self._quotas = Quotas(longest_hold_s, clock)
        self._probe_at_s = self._asked_until_s = clock()
        self._successes = 0
        self._probes_refused = 0
        self._is_doubling = False
        self._begun_at_refusal = 0
        self._refused_since_s: float | None = None

    @cached_property
    def _places(self) -> anyio.CapacityLimiter:
        # Made on the loop: one made outside of it looks for its loop at every call.
        return anyio.CapacityLimiter(self._limit)

    @property
    def limit(self) -> int:
        """Attempts allowed at once now, 1 to ``max_in_flight``."""
        return self._limit

    @property
    def in_flight(self) -> int:
        """Attempts running now."""
        return self._quotas.in_flight

    @property
    def refused_for_s(self) -> float:
        """Seconds since the first refusal after which nothing was answered; 0 after an answer."""
        since_s = self._refused_since_s  # once: another thread may ask
        return 0.0 if since_s is None else self._clock() - since_s

    @property
    def hold_s(self) -> float:
        """Seconds until the next attempt may be begun, if a place is free; 0: now."""
        return self.pace.hold_s

    @property
    def pace(self) -> Pace:
        """What the server lets the run do now; may be read from any thread."""
        now_s = self._clock()
        asked_s = max(0.0, self._asked_until_s - now_s, self._quotas.hold_s())
        pause_s = max(0.0, self._probe_at_s - now_s)
        return Pace(
            limit=self._limit,
            max_in_flight=self._max,
            hold_s=max(asked_s, pause_s),
            is_asked=asked_s > 0 and asked_s >= pause_s,
            refused_for_s=self.refused_for_s,
        )

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a free place, first come first served, and hold it.

        Yields:
            The number of the attempt, which ``slow_down``, ``succeed`` and ``hear`` want back.
        """
        borrower = object()
        while True:
            while (wait_s := self.hold_s) > 0:
                await self._sleep(wait_s)
            await self._places.acquire_on_behalf_of(borrower)
            # The server may have asked for a pause while this call stood in line.
            if self.hold_s <= 0:
                break
            self._places.release_on_behalf_of(borrower)
        number = self._quotas.begin()
        try:
            yield number
        finally:
            self._quotas.end(number)
            self._places.release_on_behalf_of(borrower)

    def slow_down(self, asked_s: float | None) -> None:
        """Take a place away after a refusal, and make everybody wait if it is time to.

        Args:
            asked_s: what the server asked for, as far as it is believed; None where it did not.
                Never shortens a wait that is on already.
        """
        now_s = self._clock()
        if self._refused_since_s is None:
            self._refused_since_s = now_s
        self._begun_at_refusal = self._quotas.begun
        if asked_s is not None:
            self._asked_until_s = max(self._asked_until_s, now_s + asked_s)
        if self._limit > 1:
            self._is_doubling = False
            self._set_limit(self._limit - 1)
        else:
            self._is_doubling = True
            self._probes_refused += 1
            # A server that says "now" all the time is not asked all the time.
            pause_s = self._pause_s(self._probes_refused if asked_s is None else 1)
            self._probe_at_s = max(self._probe_at_s, now_s + pause_s)

    def succeed(self, number: int) -> None:
        """Count a success; enough of them allow more, up to the bound.

        Args:
            number: of the attempt. After an outage, an answer to one that was begun before the last
                refusal says nothing of how the server fares since, and allows nothing.
        """
        self._refused_since_s = None
        if self._is_doubling and number <= self._begun_at_refusal:
            return
        self._probes_refused = 0
        if self._is_doubling and self._limit < self._max // 2:
            self._set_limit(self._limit + 1)
            return
        self._is_doubling = False
        self._successes += 1
        if self._successes >= self._limit:
            self._successes = 0
            self._set_limit(min(self._max, self._limit + self._step))

    def hear(self, number: int, left: Sequence[QuotaLeft]) -> None:
        """Take in what the answer to an attempt says is left of the server's quotas."""
        self._quotas.hear(number, left)

    def count_tokens(self, *, input_tokens: int, output_tokens: int) -> None:
        """Count what an answered attempt used of the token quotas."""
        self._quotas.count_tokens(input_tokens=input_tokens, output_tokens=output_tokens)

    def _set_limit(self, limit: int) -> None:
        self._limit = limit
        self._places.total_tokens = limit

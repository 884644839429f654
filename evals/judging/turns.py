"""Waiting for one's turn where another run on the same store asks the same."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from evals.judging.store import Claims

FIRST_LOOK_S = 0.05
LAST_LOOK_S = 0.5
_GROWTH = 1.5
LONGEST_WAIT_S = 600.0
"""How long a claim of another run is respected: that run may have been suspended."""
LONGEST_BATCH_WAIT_S = 7200.0
"""The same for a round: to walk a hundred thousand cases and to send what they ask takes long."""


class Turn:
    """The turn of one thing that is asked: of one process at a time, on one event loop."""

    def __init__(
        self,
        take: Callable[[], bool],
        give_back: Callable[[], None],
        *,
        longest_wait_s: float = LONGEST_WAIT_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Claim nothing yet.

        Args:
            take: claims it; False where another process has the claim.
            give_back: gives it back after it was taken.
            longest_wait_s: after so long the turn is had without the claim.
            sleep: waits a number of seconds.
            clock: seconds that only grow.
        """
        self._take = take
        self._give_back = give_back
        self._longest_wait_s = longest_wait_s
        self._sleep = sleep
        self._clock = clock
        self._is_held = False
        self._is_overdue = False

    @classmethod
    def to_ask(cls, claims: Claims, request_hash: str) -> "Turn":
        """Return the turn to ask one request."""
        return cls(lambda: claims.take(request_hash), lambda: claims.give_back(request_hash))

    @classmethod
    def to_send_batches(cls, claims: Claims) -> "Turn":
        """Return the turn to put a round of batches together and send it."""
        return cls(
            claims.take_batch_turn,
            claims.give_back_batch_turn,
            longest_wait_s=LONGEST_BATCH_WAIT_S,
        )

    def begin(self) -> bool:
        """Claim it, or tell that another process has; once it is claimed it stays so."""
        if not self._is_held:
            self._is_held = self._take()
        return self._is_held or self._is_overdue

    async def wait(self, go_on: Callable[[], None]) -> None:
        """Wait until ``begin`` says yes.

        Args:
            go_on: called before each look; what it raises ends the waiting.
        """
        last_s = self._clock() + self._longest_wait_s
        delay_s = FIRST_LOOK_S
        while True:
            go_on()
            if self.begin():
                return
            if self._clock() >= last_s:
                self._is_overdue = True
                return
            await self._sleep(delay_s)
            delay_s = min(delay_s * _GROWTH, LAST_LOOK_S)

    def end(self) -> None:
        """Give it back; may be called where it was never claimed. ``begin`` starts anew."""
        self._is_overdue = False
        if self._is_held:
            self._is_held = False
            self._give_back()

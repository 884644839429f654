"""Lines of those who wait for room, one a rank."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

FoundT = TypeVar("FoundT")


# By identity: each waits for itself.
@dataclass(eq=False)
class _Waiting:
    take: Callable[[], Any]
    place: asyncio.Future[Any]


class Lines:
    """Lets in by rank, and in a rank by turn. Used on one event loop."""

    def __init__(self, ranks: int) -> None:
        """Start empty; rank 0 comes first."""
        self._lines: tuple[deque[_Waiting], ...] = tuple(deque() for _ in range(ranks))

    @property
    def waiting(self) -> int:
        """All who wait."""
        return sum(not waiting.place.done() for line in self._lines for waiting in line)

    async def stand(
        self, rank: int, take: Callable[[], FoundT | None], give_back: Callable[[FoundT], None]
    ) -> FoundT:
        """Return what ``take`` finds, at once or after those before.

        Args:
            rank: nobody is let in while somebody of a rank before waits.
            take: tries; None: there is no room yet, which ``let_in`` looks into again.
            give_back: gets what came just as nobody wanted it any more.

        Raises:
            Exception: what ``take`` raises.
        """
        if not any(self._lines[: rank + 1]):
            found = take()
            if found is not None:
                return found
        place: asyncio.Future[FoundT] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(take, place)
        self._lines[rank].append(waiting)
        try:
            return await place
        except asyncio.CancelledError:
            if waiting in self._lines[rank]:
                self._lines[rank].remove(waiting)
                self.let_in()
            elif not place.cancelled() and place.exception() is None:
                give_back(place.result())
            raise

    def let_in(self) -> None:
        """Let in as many as there is room for."""
        for line in self._lines:
            while line:
                waiting = line[0]
                if not waiting.place.done():
                    try:
                        found = waiting.take()
                    except Exception as error:  # noqa: BLE001  raised to who waits
                        waiting.place.set_exception(error)
                    else:
                        if found is None:
                            return
                        waiting.place.set_result(found)
                line.popleft()

"""The line of those who wait for room: by rank, and in a rank by turn."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

FoundT = TypeVar("FoundT")


# By identity: each waits for itself.
@dataclass(eq=False)
class _Waiting:
    rank: Callable[[], int]
    take: Callable[[], Any]
    place: asyncio.Future[Any]


class Line:
    """Lets in by rank, and in a rank by turn. Used on one event loop."""

    def __init__(self) -> None:
        """Start empty."""
        self._waiting: list[_Waiting] = []
        """In the order in which they came."""

    @property
    def waiting(self) -> int:
        """All who wait."""
        return sum(not each.place.done() for each in self._waiting)

    async def stand(
        self,
        rank: Callable[[], int],
        take: Callable[[], FoundT | None],
        give_back: Callable[[FoundT], None],
    ) -> FoundT:
        """Return what ``take`` finds, at once or after those before.

        Args:
            rank: as of now, 0 first: nobody is let in while somebody of a rank before waits. It can
                change meanwhile: ``let_in`` asks again.
            take: tries; None: there is no room yet, which ``let_in`` looks into again.
            give_back: gets what came just as nobody wanted it any more.

        Raises:
            Exception: what ``take`` raises.
        """
        own = rank()
        if all(each.rank() > own for each in self._waiting):
            found = take()
            if found is not None:
                return found
        place: asyncio.Future[FoundT] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(rank, take, place)
        self._waiting.append(waiting)
        try:
            return await place
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                self.let_in()
            elif not place.cancelled() and place.exception() is None:
                give_back(place.result())
            raise

    def let_in(self) -> None:
        """Let in as many as there is room for."""
        while self._waiting:
            waiting = min(self._waiting, key=lambda each: each.rank())  # of several the first
            if not waiting.place.done():
                try:
                    found = waiting.take()
                except Exception as error:  # noqa: BLE001  raised to who waits
                    waiting.place.set_exception(error)
                else:
                    if found is None:
                        return
                    waiting.place.set_result(found)
            self._waiting.remove(waiting)

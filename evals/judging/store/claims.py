"""Claims on what is about to be asked, so that of all runs on a store one at a time asks it.

A claim is a lock on one byte of an empty file beside the store: the system frees it when its
process ends, however it ends, so nothing has to be cleared away after a killed run. Such locks hold
between the processes of one machine, and not within a process.
"""

import fcntl
import os
from collections import Counter
from pathlib import Path

from evals.files import OWNER_ONLY

_PLACES = 1 << 62
"""Bytes that can be locked, from 0. Two requests at one byte wait for each other, and no more."""
_PLACE_DIGITS = 16
_BATCH_TURN = _PLACES
"""The byte of the run that puts Message Batches together and sends them."""


class Claims:
    """The claims of this process on what is asked. Used on one thread.

    At most one object a process may be open on a store: closing one frees the claims of all. Where
    the file cannot be made, or its file system knows no locks, everything can be claimed.
    """

    def __init__(self, store: Path) -> None:
        """Claim nothing yet; the file is made (0600) when the first claim is.

        Args:
            store: the store, in a folder that is there by then.
        """
        # By its real name: one store may be known under several.
        self._path = Path(f"{os.path.realpath(store)}-claims")
        self._fd: int | None = None
        self._is_usable = True
        self._held: Counter[int] = Counter()

    def take(self, request_hash: str) -> bool:
        """Claim a request, or tell that another process has; to be given back as often as taken.

        Args:
            request_hash: hex digits, as ``JudgeRequest.request_hash``.
        """
        return self._take(_place_of(request_hash))

    def give_back(self, request_hash: str) -> None:
        """Give back a claim that was taken."""
        self._give_back(_place_of(request_hash))

    def take_batch_turn(self) -> bool:
        """Claim the sending of batches, as ``take`` claims a request."""
        return self._take(_BATCH_TURN)

    def give_back_batch_turn(self) -> None:
        """Give the sending of batches back; it was taken."""
        self._give_back(_BATCH_TURN)

    def close(self) -> None:
        """Give everything back; may be called twice."""
        self._held.clear()
        self._is_usable = False
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _take(self, place: int) -> bool:
        if self._held[place] == 0 and not self._lock(place):
            return False
        self._held[place] += 1
        return True

    def _give_back(self, place: int) -> None:
        if self._held[place] == 0:  # all were given back when this was closed
            return
        self._held[place] -= 1
        if self._held[place] == 0:
            del self._held[place]  # a run makes a hundred thousand
            if self._fd is not None:
                fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, place)

    def _lock(self, place: int) -> bool:
        fd = self._opened()
        if fd is None:
            return True
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # which of them says "taken" POSIX leaves open
            return False
        except OSError:
            self._is_usable = False
        return True

    def _opened(self) -> int | None:
        if self._fd is None and self._is_usable:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                self._fd = os.open(self._path, flags, OWNER_ONLY)
            except OSError:
                self._is_usable = False
        return self._fd if self._is_usable else None


def _place_of(request_hash: str) -> int:
    return int(request_hash[:_PLACE_DIGITS], 16) % _PLACES

"""What the items of a run came to, until their tests have ended.

Where answers come faster than tests run, as they do from batches and from the store, the rows of a
whole run wait at once. So they wait in a file; what has to be known of them is in memory.
"""

import threading
import weakref
from collections.abc import Iterable
from concurrent.futures import CancelledError
from pathlib import Path
from tempfile import SpooledTemporaryFile

from evals.errors import EvalError, JudgeProcessError
from evals.judging.gist import Gist

_IN_MEMORY_BYTES = 4 * 2**20
"""Rows of a run that keeps up with its answers never touch the disk."""


class _Settled:
    """An item that is done."""

    __slots__ = ("gist", "size", "start")

    def __init__(self, gist: Gist, start: int, size: int) -> None:
        self.gist = gist
        self.start = start
        self.size = size


class WaitingItems:
    """Items by key, each unsettled, done or failed. Used from any thread."""

    def __init__(self, folder: Path) -> None:
        """Wait for none yet.

        Args:
            folder: where there is room for rows; their file has no name there.
        """
        self._folder = folder
        self._changed = threading.Condition()
        self._items: dict[str, _Settled | BaseException | None] = {}
        """None: unsettled; ``CancelledError``: it never will be settled."""
        self._unsettled = 0
        self._awaited: set[str] = set()
        self._awaits_all = False
        self._in_file = 0
        self._file = SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=str(folder))  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # rows are asked for after the judge has ended

    def add(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Wait for more items; return those that were not known."""
        with self._changed:
            new = tuple(key for key in dict.fromkeys(keys) if key not in self._items)
            self._items.update(dict.fromkeys(new))
            self._unsettled += len(new)
            return new

    def settle(self, key: str, gist: Gist, row_json: str) -> None:
        """Take an item's row.

        Raises:
            EvalError: there is no room for it.
        """
        row = row_json.encode()
        with self._changed:
            try:
                start = self._file.seek(0, 2)
                self._file.write(row)
            except OSError as error:
                raise self._no_room(error) from error
            self._in_file += 1
            self._set(key, _Settled(gist, start, len(row)))

    def fail(self, key: str, error: BaseException) -> None:
        """Take the error that an item ended in."""
        with self._changed:
            self._set(key, error)

    def fail_rest(self, error: EvalError | None) -> list[str]:
        """Let every unsettled item end in ``error``, None: cancelled; return them."""
        with self._changed:
            rest = [key for key, found in self._items.items() if found is None]
            for key in rest:
                self._set(key, error or CancelledError())
            return rest

    def wait(self, key: str) -> Gist:
        """Wait for one item; may be interrupted by SIGINT.

        Raises:
            EvalError: what it ended in.
            concurrent.futures.CancelledError: it never will end.
        """
        with self._changed:
            while (found := self._items[key]) is None:
                self._awaited.add(key)
                self._changed.wait()
        if isinstance(found, _Settled):
            return found.gist
        raise found

    def wait_all(self) -> None:
        """Wait until every item has ended, well or badly."""
        with self._changed:
            while self._unsettled:
                self._awaits_all = True
                self._changed.wait()

    def done(self, key: str) -> Gist | None:
        """Return what is known of an item that is done without error, or None; does not wait."""
        found = self._items.get(key)
        return found.gist if isinstance(found, _Settled) else None

    def row_json(self, key: str) -> str:
        """Return the row of an item that is done.

        Raises:
            EvalError: its file cannot be read.
        """
        with self._changed:
            found = self._items[key]
            assert isinstance(found, _Settled)
            try:
                self._file.seek(found.start)
                row: bytes = self._file.read(found.size)
            except OSError as error:
                raise self._no_room(error) from error
        return row.decode()

    def forget(self, key: str) -> None:
        """Drop an item that is done and written down, so that memory does not grow with the run."""
        with self._changed:
            if isinstance(self._items.pop(key, None), _Settled):
                self._in_file -= 1
                if not self._in_file:
                    self._file.seek(0)
                    self._file.truncate()

    def _set(self, key: str, found: _Settled | BaseException) -> None:
        assert self._items[key] is None, f"{key} has ended before"
        self._items[key] = found
        self._unsettled -= 1
        if key in self._awaited or (self._awaits_all and not self._unsettled):
            self._awaited.discard(key)
            self._changed.notify_all()

    def _no_room(self, error: OSError) -> EvalError:
        return JudgeProcessError(
            f"rows that wait for their tests, in {self._folder}",
            str(error),
            "room for them",
            "Free space, and run again: what is answered is kept.",
        )

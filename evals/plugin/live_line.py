"""One more writer beside pytest on one terminal or log, without a trace in what pytest writes.

pytest ends its lines when it pleases: a row of dots grows for minutes. So a line of ours cannot go
where the cursor is. On a terminal it goes into the row below and the cursor back to where it was;
whatever would move the cursor out of its row wipes it first. In a log it goes between.

While a test runs, pytest's capture has put a file of its own in the place of descriptor 1; what is
written here goes to a copy of the descriptor from before.
"""

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol, Self, TextIO

from evals.plugin.progress import Progress, live_text, plain_text

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_USUAL_COLUMNS = 80
_USUAL_ROWS = 24
_PUT_BACK_AFTER_S = 0.1


def column_after(column: int | None, text: str) -> int | None:
    """Return how many columns the cursor has come from where its line began.

    Args:
        column: where it was, over all the rows that the line takes; None: not known.
        text: what is written.

    Returns:
        Where it is; None where that takes more than counting characters (a tab, a carriage
        return, wide letters), until the next line.
    """
    text = _COLOUR.sub("", text)
    start = text.rfind("\n") + 1
    if start:
        column, text = 0, text[start:]
    if column is None or not (text.isascii() and text.isprintable()):
        return None
    return column + len(text)


class Display(Protocol):
    """A way to show progress among what pytest writes. All calls come under one lock."""

    every_s: float
    """How often ``show`` is to be called."""

    def show(self, progress: Progress | None) -> None:
        """Show it; None: there is nothing to show."""
        ...

    def make_way(self, text: str) -> None:
        """Prepare for pytest to write ``text``."""
        ...

    def wrote(self, text: str) -> None:
        """Note that pytest has written ``text``."""
        ...

    def hide(self, *, moved: bool = False) -> None:
        """Leave nothing behind; ``moved``: the cursor is going to be moved unseen."""
        ...


class LiveLine:
    """A line below the cursor of a terminal."""

    every_s = 0.25
    FROM_S = 1.0
    """A run that ends before needs no line."""

    def __init__(
        self, fd: int, column: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Draw nothing yet.

        Args:
            fd: the terminal.
            column: where the cursor is; None: not known.
            clock: seconds that only grow.
        """
        self._fd = fd
        self._column = column
        self._clock = clock
        self._columns = _USUAL_COLUMNS
        self._line: str | None = None
        self._drawn = False
        self._drawn_at_s = -1.0

    def show(self, progress: Progress | None) -> None:
        """Draw the line anew."""
        if progress is None or progress.elapsed_s < self.FROM_S:
            self.hide()
            return
        self._columns, rows = _size(self._fd)
        # The last column stays free: in it the cursor would be on the edge.
        self._line = live_text(progress, self._columns - 1) if rows > 1 else None
        self._draw()

    def make_way(self, text: str) -> None:
        """Wipe the line if ``text`` reaches the row below."""
        if self._drawn and not self._stays_in_row(text):
            self._wipe()

    def wrote(self, text: str) -> None:
        """Put the line back, but not after every line of a torrent."""
        self._column = column_after(self._column, text)
        if not self._drawn and self._clock() - self._drawn_at_s >= _PUT_BACK_AFTER_S:
            self._draw()

    def hide(self, *, moved: bool = False) -> None:
        """Wipe the line and forget it."""
        self._line = None
        if self._drawn:
            self._wipe()
        if moved:
            self._column = None

    def _stays_in_row(self, text: str) -> bool:
        after = column_after(self._column, text)
        if self._column is None or after is None or "\n" in text:
            return False
        return after // self._columns == self._column // self._columns

    def _draw(self) -> None:
        if self._line is None or self._column is None:
            return
        if self._column and self._column % self._columns == 0:
            # On the edge terminals differ in where the cursor is, and moving it decides that.
            return
        # Erase what is below; index, which scrolls at the bottom, and up again; save the cursor;
        # down, to the start of the row, the line; restore the cursor.
        _put(self._fd, f"\x1b[J\x1bD\x1b[A\x1b7\x1b[B\r{self._line}\x1b8")
        self._drawn = True
        self._drawn_at_s = self._clock()

    def _wipe(self) -> None:
        _put(self._fd, "\x1b[J")
        self._drawn = False


class PlainLines:
    """A line now and then in a log, on a line of its own."""

    every_s = 1.0

    def __init__(self, fd: int, column: int | None, line_every_s: float) -> None:
        """Write nothing yet.

        Args:
            fd: the log.
            column: where pytest's line stands; None: not known.
            line_every_s: seconds from the start to the first line, and from one to the next.
        """
        self._fd = fd
        self._column = column
        self._line_every_s = line_every_s
        self._next_s = line_every_s
        self._broken = False

    def show(self, progress: Progress | None) -> None:
        """Write a line, if it is time."""
        if progress is None or progress.elapsed_s < self._next_s:
            return
        self._next_s = (progress.elapsed_s // self._line_every_s + 1) * self._line_every_s
        mid_line = self._column != 0 and not self._broken
        _put(self._fd, "\n" * mid_line + plain_text(progress) + "\n")
        self._broken = self._broken or mid_line

    def make_way(self, text: str) -> None:
        """Let pytest's broken line go on in the column where it was."""
        # pytest aligns its percentages by that column.
        goes_on = self._broken and text and not text.startswith("\n")
        if goes_on and self._column is not None and self._column < _USUAL_COLUMNS:
            _put(self._fd, " " * self._column)

    def wrote(self, text: str) -> None:
        """Note where pytest's line stands."""
        self._column = column_after(self._column, text)
        self._broken = self._broken and not text

    def hide(self, *, moved: bool = False) -> None:
        """Do nothing: what is in a log stays."""


class SharedOutput:
    """Shows progress among what is written to streams, until it is closed."""

    def __init__(self, display: Display, streams: Iterable[TextIO]) -> None:
        """Take part in every write to ``streams``; each is given once.

        The ``write`` of the very objects is replaced, for pytest's reporter, ``print`` under
        ``-s`` and a capture that passes on what it sees (``tee-sys``) all hold them.
        """
        self.display = display
        # The same thread again: a signal handler may write in the middle of a write.
        self._lock = threading.RLock()
        self._paused = False
        self._streams = tuple(streams)
        for stream in self._streams:
            stream.flush()
            vars(stream)["write"] = self._writing(stream, stream.write)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self.pause()
            for stream in self._streams:
                del vars(stream)["write"]

    def show(self, progress: Progress | None) -> None:
        """Show it; may be called from any thread."""
        with self._lock:
            if not self._paused:
                self.display.show(progress)

    def pause(self) -> None:
        """Show nothing until ``resume``: a person is at the terminal."""
        with self._lock:
            self._paused = True
            self.display.hide(moved=True)

    def resume(self) -> None:
        """Go on."""
        with self._lock:
            self._paused = False

    def _writing(self, stream: TextIO, write: Callable[[str], int]) -> Callable[[str], int]:
        def write_between(text: str) -> int:
            with self._lock:
                self.display.make_way(text)
                written = write(text)
                # Or it would reach the terminal later, and somewhere else.
                stream.flush()
                self.display.wrote(text)
            return written

        return write_between


def _size(fd: int) -> tuple[int, int]:
    """Return columns and rows; the usual ones where the terminal does not tell."""
    try:
        size = os.get_terminal_size(fd)
    except OSError:
        return _USUAL_COLUMNS, _USUAL_ROWS
    return size.columns or _USUAL_COLUMNS, size.lines or _USUAL_ROWS


def _put(fd: int, text: str) -> None:
    # Where the terminal is gone or the disk full, pytest's own next write says so.
    with contextlib.suppress(OSError):
        os.write(fd, text.encode("ascii", "replace"))

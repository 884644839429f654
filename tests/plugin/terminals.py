"""A run on a terminal of its own: a pty, and an emulator that tells what a person sees."""

import fcntl
import os
import pty
import re
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyte

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import ROOT, RUN_TIMEOUT_S, Evaluations

ROWS = 24
_SCROLLBACK = 5_000


class Emulator:
    """A terminal of 24 rows, with what has scrolled out of it."""

    def __init__(self, columns: int = 80, rows: int = ROWS) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=_SCROLLBACK)
        self._stream = pyte.ByteStream(self._screen)

    def feed(self, content: bytes) -> None:
        self._stream.feed(content)

    @property
    def rows(self) -> list[str]:
        """The rows on the screen, without trailing blanks."""
        return [row.rstrip() for row in self._screen.display]

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 0."""
        return self._screen.cursor.y, self._screen.cursor.x

    @property
    def everything(self) -> list[str]:
        """All rows from the first on, those that have scrolled out too."""
        width = self._screen.columns
        above = [
            "".join(row[column].data for column in range(width)).rstrip()
            for row in self._screen.history.top
        ]
        return [*above, *self.rows]


@dataclass(frozen=True)
class Watched:
    """A run that has ended, and what it sent to its terminal."""

    code: int
    sent: bytes
    columns: int

    @property
    def at_the_end(self) -> Emulator:
        emulator = Emulator(self.columns)
        emulator.feed(self.sent)
        return emulator

    def states(self) -> Iterator[list[str]]:
        """Replay: the rows after every line drawn or wiped below the cursor."""
        emulator = Emulator(self.columns)
        for piece in re.split(rb"(?=\x1b\[J)|(?<=\x1b8)", self.sent):
            emulator.feed(piece)
            yield emulator.rows


def watch(
    evaluations: Evaluations,
    *arguments: str,
    api: MessagesApi | None,
    columns: int = 80,
    on_output: Callable[[bytes, int], None] = lambda _sent, _keyboard: None,
) -> Watched:
    """Run on a terminal.

    Args:
        evaluations: where it keeps its files.
        arguments: pytest's.
        api: the server that it asks.
        columns: width of the terminal.
        on_output: called with all that was sent so far, and the keyboard's descriptor to write to.
    """
    keyboard, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (ROWS, columns))
    environment = evaluations.environment(api) | {"TERM": "xterm", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        evaluations.command(*arguments, run_id="run-1"),
        cwd=ROOT,
        env=environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        # Makes it the terminal of the run, so that Ctrl-C reaches it as a signal.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here
    )
    os.close(terminal)
    sent = bytearray()
    try:
        while piece := _read(keyboard):
            sent += piece
            on_output(bytes(sent), keyboard)
        code = process.wait(RUN_TIMEOUT_S)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        os.close(keyboard)
    return Watched(code, bytes(sent), columns)


def _read(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, 65_536)
    except OSError:  # how Linux says that the last writer has gone
        return b""

"""Starts the process that judges. Imports next to nothing, so that it can be done first of all."""

import signal
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

_PROGRAM = Path(__file__).with_name("__main__.py")


@dataclass(frozen=True)
class StartedProcess:
    """A process that has yet to be told what to judge. It ends with its connection."""

    process: subprocess.Popen[bytes]
    connection: Connection

    def end(self) -> None:
        """End it without having used it; one that has ended already is let be."""
        self.process.kill()  # first, or it could still complain of the connection's end
        self.connection.close()
        self.process.wait()


def start_process(*, live: bool) -> StartedProcess:
    """Start the process.

    Args:
        live: whether calls are to be made: it then imports the SDK at once, which takes longest.
    """
    connection, theirs = Pipe()
    # It inherits the mask: Ctrl-C, which is for the whole group, must not reach it before it can
    # say that it ignores that.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        with theirs:
            fd = theirs.fileno()
            process = subprocess.Popen(  # noqa: S603  this interpreter, a file of this package
                [sys.executable, str(_PROGRAM), str(fd), "live" if live else "recorded"],
                stdin=subprocess.DEVNULL,
                pass_fds=(fd,),
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return StartedProcess(process, connection)

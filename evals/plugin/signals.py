"""What Ctrl-C and SIGTERM do to a run: the first ends it, with its report; later ones hurry that.

From the first one on, nothing is raised any more: a second Ctrl-C would cut off the record, or the
report, in the middle. While the report is written, a first one raises nothing either.
"""

import signal
import threading
from collections.abc import Callable
from typing import NoReturn

import pytest

_BOTH = (signal.SIGINT, signal.SIGTERM)


def _nothing() -> None:
    pass


class Signals:
    """The handler of both signals in the process that runs the evaluations."""

    def __init__(self, config: pytest.Config) -> None:
        """Take them over until pytest has ended; one that is ignored stays so, but for SIGTERM.

        SIGTERM would end pytest at once, without a report; it does what SIGINT does.
        """
        self.hurry: Callable[[], None] = _nothing
        """Called with each signal after the one that ended the run: cuts its waiting short."""
        self._woken_by: Callable[[], NoReturn] | None = None
        self._begun = False
        self._came_early = False
        self._ending = False
        # Under --pdb, Ctrl-C in a test leads to the debugger, and the run goes on.
        self._first_ends = not config.getoption("usepdb", default=False)
        self._before = {number: signal.getsignal(number) for number in _BOTH}
        # SIGINT is ignored where a script's shell has put the run into the background.
        if self._before[signal.SIGINT] is signal.SIG_IGN:
            del self._before[signal.SIGINT]
        for number in self._before:
            signal.signal(number, self._heard)
        config.add_cleanup(self._restore)

    def begin(self) -> None:
        """Let signals end the run from here on, or end it by one that came already.

        Not before: what is raised amid imports comes out as anything, out of an extension module as
        a fault of it, out of ``exec`` as a process that has killed itself.

        Raises:
            KeyboardInterrupt: a signal came since they were taken over.
        """
        self._begun = True
        if self._came_early:
            self._heard()

    def end(self) -> None:
        """Raise nothing from here on: the run has come to its end, in whatever way."""
        self._ending = True

    def wake(self, stop: Callable[[], NoReturn]) -> None:
        """Call ``stop`` in the main thread, from any other, whatever it waits for."""
        self._woken_by = stop
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    def _heard(self, *_: object) -> None:
        if not self._begun:
            self._came_early = True
            return
        stop, self._woken_by = self._woken_by, None
        if self._ending:
            if stop is None:
                self.hurry()
            return
        self._ending = stop is not None or self._first_ends
        if stop is not None:
            stop()
        raise KeyboardInterrupt

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

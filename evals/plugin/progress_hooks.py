"""Shows a run's progress while its tests run: a live line on a terminal, plain lines in a log."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Generator
from typing import TextIO

import pytest

from evals.plugin.live_line import Display, LiveLine, PlainLines, SharedOutput
from evals.plugin.progress import Meter
from evals.plugin.run import EvalRun

PLAIN_EVERY_S = 30.0
"""Seconds between two lines in a log."""
_SILENT_VERBOSITY = -2
"""``-qq``: the user wants to hear nothing but the end."""
_JOIN_TIMEOUT_S = 2.0


class ProgressHooks:
    """The hooks of the process that judges; xdist's workers have none."""

    def __init__(self, run: EvalRun, config: pytest.Config) -> None:
        """Take the run; nothing is shown before its tests could run."""
        self._run = run
        self._config = config
        self._output: SharedOutput | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Show progress as long as tests run, and leave nothing behind."""
        with contextlib.ExitStack() as stack:
            self._output = _output_of(self._config, stack)
            if self._output is not None:
                stack.enter_context(_Ticker(self._output, self._meter()))
            return (yield)

    def pytest_enter_pdb(self) -> None:
        """Leave the terminal to the debugger."""
        if self._output is not None:
            self._output.pause()

    def pytest_leave_pdb(self) -> None:
        """Go on."""
        if self._output is not None:
            self._output.resume()

    def _meter(self) -> Meter:
        config = self._run.config
        return Meter(self._run, config.judge_mode, config.max_in_flight)


class _Ticker:
    """A thread that shows the progress again and again.

    One of its own: the pool's loop must not wait for a terminal that is stopped with Ctrl-S.
    """

    def __init__(self, output: SharedOutput, meter: Meter) -> None:
        self._output = output
        self._meter = meter
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        # Nothing is drawn from here on, even if the thread is still about to.
        self._output.pause()
        self._thread.join(_JOIN_TIMEOUT_S)

    def _tick(self) -> None:
        started_s = time.monotonic()
        while not self._ended.wait(self._output.display.every_s):
            self._output.show(self._meter.read(time.monotonic() - started_s))


def _output_of(config: pytest.Config, stack: contextlib.ExitStack) -> SharedOutput | None:
    """Return where this process shows progress; None where it shows none."""
    no_reporter = config.pluginmanager.get_plugin("terminalreporter") is None
    if no_reporter or config.get_verbosity() <= _SILENT_VERBOSITY:
        return None
    writer = config.get_terminal_writer()
    reporter_stream: TextIO = writer._file  # noqa: SLF001  pytest tells it in no other way
    try:
        # Before a test runs: then the descriptor is still the terminal's own.
        fd = os.dup(reporter_stream.fileno())
    except (OSError, ValueError):  # a stream without a descriptor, or a closed one
        return None
    stack.callback(os.close, fd)
    column = writer.width_of_current_line
    known_column = column if column >= 0 else None
    streams = {id(reporter_stream): reporter_stream}
    display: Display
    if writer.hasmarkup and os.isatty(fd):
        display = LiveLine(fd, known_column)
        streams |= {id(each): each for each in (sys.stdout, sys.stderr) if each.isatty()}
    else:
        display = PlainLines(fd, known_column, PLAIN_EVERY_S)
    return stack.enter_context(SharedOutput(display, streams.values()))

"""Ctrl-C and SIGTERM: the first ends a run, later ones only hurry its end."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Thread
from typing import Any, NoReturn

import pytest

from evals.plugin.signals import Signals


class Config:
    """What ``Signals`` needs of pytest's configuration."""

    def __init__(self, *, usepdb: bool) -> None:
        self.cleanup = ExitStack()
        self._usepdb = usepdb

    def getoption(self, name: str, *, default: bool) -> bool:
        return self._usepdb if name == "usepdb" else default

    def add_cleanup(self, func: Callable[[], None]) -> None:
        self.cleanup.callback(func)


Take = Callable[..., Signals]


@pytest.fixture
def taken() -> Iterator[Take]:
    """Take the signals over, until the test has ended."""
    with ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.getsignal(number))

        def take(*, usepdb: bool = False, begun: bool = True) -> Signals:
            config: Any = Config(usepdb=usepdb)
            stack.enter_context(config.cleanup)
            signals = Signals(config)
            if begun:
                signals.begin()
            return signals

        yield take


class Hurried:
    """Counts how often the end was hurried."""

    def __init__(self, signals: Signals) -> None:
        self.times = 0
        signals.hurry = self._count

    def _count(self) -> None:
        self.times += 1


BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@BOTH
def test_the_first_interrupts_and_every_later_one_hurries_and_raises_nothing(
    number: signal.Signals, taken: Take
) -> None:
    hurried = Hurried(taken())
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert hurried.times == 0
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    assert hurried.times == 2


@BOTH
def test_one_that_comes_amid_the_imports_interrupts_after_them(
    number: signal.Signals, taken: Take
) -> None:
    signals = taken(begun=False)
    hurried = Hurried(signals)
    signal.raise_signal(number)
    signal.raise_signal(number)
    with pytest.raises(KeyboardInterrupt):
        signals.begin()
    assert hurried.times == 0
    signal.raise_signal(number)
    assert hurried.times == 1


@BOTH
def test_once_a_run_has_ended_none_cuts_off_its_record(number: signal.Signals, taken: Take) -> None:
    signals = taken()
    hurried = Hurried(signals)
    signals.end()
    signal.raise_signal(number)
    assert hurried.times == 1


def test_with_pdb_every_ctrl_c_leads_to_the_debugger(taken: Take) -> None:
    taken(usepdb=True)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_run_in_a_scripts_background_ignores_ctrl_c_but_not_sigterm(taken: Take) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    taken()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


class StopError(Exception):
    """What another thread stops the run by."""


def stop() -> NoReturn:
    raise StopError


def test_another_thread_stops_the_main_one_with_an_error_of_its_own(taken: Take) -> None:
    signals = taken()
    hurried = Hurried(signals)
    waking = Thread(target=signals.wake, args=(stop,))
    with pytest.raises(StopError):  # noqa: PT012  it comes wherever the main thread is by then
        waking.start()
        waking.join()
        signal.sigtimedwait((), 60)
    assert hurried.times == 0
    signal.raise_signal(signal.SIGINT)
    assert hurried.times == 1


def test_nobody_is_woken_after_the_end(taken: Take) -> None:
    signals = taken()
    hurried = Hurried(signals)
    signals.end()
    signals.wake(stop)
    assert hurried.times == 0


@pytest.mark.usefixtures("taken")
def test_pytest_gets_its_handlers_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    config: Any = Config(usepdb=False)
    Signals(config)
    assert signal.getsignal(signal.SIGINT) is not before
    config.cleanup.close()
    assert signal.getsignal(signal.SIGINT) is before

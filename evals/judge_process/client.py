"""The pytest side: starts the process that judges, hands it items, and waits for their rows."""

import subprocess
import threading
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from evals.errors import EvalError, JudgeProcessError
from evals.judge_process.process import StartedProcess
from evals.judge_process.waiting import WaitingItems
from evals.judge_process.wire import (
    Close,
    Counted,
    Done,
    Failed,
    FromJudge,
    Missing,
    NotOpened,
    Opened,
    Start,
    Submit,
    TellMissing,
    ToJudge,
)
from evals.judging.engine import EngineCounts
from evals.judging.gist import Gist
from evals.judging.missing import MissingAnswers

_CLOSE_TIMEOUT_S = 5.0
_AT_ONCE_TIMEOUT_S = 0.75
"""For somebody who has pressed Ctrl-C: what is answered is in the store, calls are paid or not."""


class JudgeProcess:
    """One process that judges. Used from any thread of the process that started it."""

    def __init__(
        self,
        started: StartedProcess,
        start: Start,
        on_row: Callable[[str, Gist | EvalError], None],
    ) -> None:
        """Tell the process what the run is, and start a thread that listens to it.

        Args:
            started: who judges; ended by ``close``.
            start: what the run is.
            on_row: called on that thread as each item ends; what it raises gives up the rest.
        """
        self._on_row = on_row
        self._opened: Future[None] = Future()
        self._missing: Future[MissingAnswers] = Future()
        # Beside the store, where there is a disk for what a run needs.
        self._items = WaitingItems(start.config.store_path.parent)
        self._counts: EngineCounts | None = None
        self._closed = False
        self._has_work = False
        self._sending = threading.Lock()
        self._ending = threading.Lock()
        self._ended = False
        self._failure: EvalError | None = None
        self._connection, self._process = started.connection, started.process
        self._thread = threading.Thread(target=self._listen, name="judge-listener", daemon=True)
        self._thread.start()
        self._send(start)

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    @property
    def counts(self) -> EngineCounts | None:
        """The counters as last told; None where it did not get so far."""
        return self._counts

    @property
    def has_told_all(self) -> bool:
        """Whether it ended by itself, so that the counters are exact; asked once it is closed."""
        return self._process.returncode == 0

    def wait_opened(self) -> None:
        """Wait until the judge is open.

        Raises:
            EvalError: what opening it raised, or that the process ended.
        """
        self._opened.result()

    def submit(self, keys: Iterable[str]) -> None:
        """Queue items, in order; a key that is known already is left out."""
        with self._ending:
            new = self._items.add(keys)
            if self._ended:  # nobody listens any more
                self._settle_rest()
        self._send(Submit(new))
        self._has_work = True

    def delivered(self, key: str) -> Gist:
        """Wait for one item's row, and return its gist; may be interrupted by SIGINT.

        Raises:
            EvalError: what the item ended in; what stopped the run, in this item or another.
            concurrent.futures.CancelledError: the process was closed first.
        """
        return self._items.wait(key)

    def finished(self, key: str) -> Gist | None:
        """Return the gist of an item that is done without error, or None; does not wait."""
        return self._items.done(key)

    def row_json(self, key: str) -> str:
        """Return the row of an item that is ``finished``.

        Raises:
            EvalError: it cannot be read back from where it waits.
        """
        return self._items.row_json(key)

    def forget(self, key: str) -> None:
        """Drop a row that has been written down, so that memory does not grow with the run."""
        self._items.forget(key)

    def wait_all(self) -> None:
        """Wait until every submitted item has ended, well or badly."""
        self._items.wait_all()

    def missing(self) -> MissingAnswers:
        """Return what recorded mode has no answer to, and write it out if that is asked; once.

        Raises:
            ExchangeError: it cannot be written out.
        """
        self._send(TellMissing())
        return self._missing.result()

    def close(self, *, at_once: bool = False) -> None:
        """End the process, with what it has queued or in flight; may be called twice.

        Args:
            at_once: kill it soon where it does not end by itself, as when it is stopped.
        """
        if self._closed:
            return
        self._closed = True
        if self._has_work:
            self._send(Close())
        else:
            # It may still be reading its inputs, or wait for the rest of a message that Ctrl-C cut
            # off; it has made no call.
            self._process.kill()
        timeout_s = _AT_ONCE_TIMEOUT_S if at_once else _CLOSE_TIMEOUT_S
        self._thread.join(timeout_s)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()  # what held it is gone with the process
        self._connection.close()

    def kill(self) -> None:
        """End the process as it stands; for a signal's handler."""
        self._process.kill()

    def _send(self, message: ToJudge) -> None:
        # It has ended: the listener meets that as well.
        with suppress(OSError), self._sending:
            self._connection.send(message)

    def _listen(self) -> None:
        error: EvalError | None = None
        try:
            while True:
                try:
                    self._hear(self._connection.recv())
                except EvalError as met:
                    # Nothing can be delivered any more, as when the disk is full.
                    error = error or met
                    self._send(Close())
        except (EOFError, OSError):
            pass
        except Exception:  # noqa: BLE001  a fault here must not leave everybody waiting
            error = error or _fault_of_ours(traceback.format_exc())
            self._send(Close())
        self._end(error)

    def _end(self, error: EvalError | None) -> None:
        self._failure = error if error is not None or self._closed else self._died()
        with self._ending:
            self._ended = True
            self._settle_rest()

    def _settle_rest(self) -> None:
        for other in (self._opened, self._missing):
            self._settle(other)
        for key in self._items.fail_rest(self._failure):
            if self._failure is not None:
                with suppress(EvalError):  # whom nothing can be told ends with this process
                    self._on_row(key, self._failure)

    def _settle(self, future: Future[Any]) -> None:
        if future.done():
            return
        if self._failure is None:
            future.cancel()
        else:
            future.set_exception(self._failure)

    def _died(self) -> EvalError:
        return JudgeProcessError(
            "the process that judges",
            f"its end (exit code {self._process.wait()})",
            "that it runs as long as the tests",
            "Run again: what is answered is kept. Where the system killed it, see to its memory.",
        )

    def _hear(self, message: FromJudge) -> None:
        match message:
            case Opened():
                self._opened.set_result(None)
            case NotOpened(error):
                self._opened.set_exception(error)
            case Counted(counts):
                self._counts = counts
            case Missing(EvalError() as error):
                self._missing.set_exception(error)
            case Missing(MissingAnswers() as answers):
                self._missing.set_result(answers)
            case Done(key, gist, row_json):
                # Known here before it is told: whoever hears of it may ask for it at once.
                self._items.settle(key, gist, row_json)
                self._on_row(key, gist)
            case Failed(key, error):
                self._items.fail(key, error)
                self._on_row(key, error)


def _fault_of_ours(found: str) -> EvalError:
    return JudgeProcessError(
        "what listens to the process that judges",
        found,
        "no error of its own",
        "This is a fault of this project: please report it.",
    )

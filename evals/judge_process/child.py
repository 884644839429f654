"""The judging side: evaluates the items that it is told, until the connection ends."""

import gc
import threading
import traceback
from contextlib import suppress
from functools import cached_property
from multiprocessing.connection import Connection

from evals.errors import EvalError, JudgeProcessError
from evals.judge_process import collector
from evals.judge_process.catalog import Catalog
from evals.judge_process.pool import Pool
from evals.judge_process.suites import suites_at
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
)
from evals.judging.case import Row
from evals.judging.gist import gist_of
from evals.judging.hidden_key import hide_in_logs
from evals.judging.opening import open_engine

_COUNTS_EVERY_S = 0.2


def serve(connection: Connection) -> None:
    """Judge what comes over ``connection`` until its other end is closed."""
    try:
        start = connection.recv()
    except (EOFError, OSError):  # the other side has ended before it began
        return
    assert isinstance(start, Start)
    if start.config.api_key is not None:
        hide_in_logs(start.config.api_key)
    _Judge(connection, start).run()


class _Judge:
    def __init__(self, connection: Connection, start: Start) -> None:
        self._connection = connection
        self._start = start
        self._sending = threading.Lock()
        self._told: Counted | None = None
        self._pool = Pool(
            lambda: open_engine(start.config),
            start.context,
            start.config.max_in_flight,
            self._on_row,
        )

    def run(self) -> None:
        try:
            self._pool.engine  # noqa: B018  raises here what opening it raised
        except BaseException as error:  # noqa: BLE001  told to whoever started this process
            self._send(NotOpened(_told_as(error)))
            return
        self._send(Opened())
        with suppress(EvalError):  # raised again when it is asked for a case
            self._catalog  # noqa: B018  read now, while the other side collects
        try:
            self._listen()
        except (EOFError, OSError):  # the other side has died, between messages or in one
            pass
        finally:
            self._pool.close()
            self._tell_counts()

    def _listen(self) -> None:
        collector.relax()
        gc.enable()
        while True:
            while not self._connection.poll(_COUNTS_EVERY_S):
                self._tell_counts()
            match self._connection.recv():
                case Submit(keys):
                    self._submit(keys)
                case TellMissing():
                    self._tell_missing()
                case Close():
                    return

    @cached_property
    def _catalog(self) -> Catalog:
        catalog = Catalog(self._start.config, suites_at(self._start.suite_paths))
        catalog.load()
        return catalog

    def _submit(self, keys: tuple[str, ...]) -> None:
        try:
            cases = [(key, self._catalog.case(key)) for key in keys]
        except EvalError as error:  # a trace that was changed since the other side read it
            for key in keys:
                self._send(Failed(key, error))
            return
        self._pool.submit((key, case) for key, case in cases if case is not None)
        for key, case in cases:
            if case is None:
                self._send(Failed(key, _changed_inputs(key)))
        # From here on each window is held by its cases alone, until the last of them is judged.
        self.__dict__.pop("_catalog", None)

    def _on_row(self, key: str, row: Row | BaseException) -> None:
        self._send(ended(key, row))

    def _tell_missing(self) -> None:
        try:
            self._send(Missing(self._pool.engine.missing.finish()))
        except EvalError as error:
            self._send(Missing(error))

    def _tell_counts(self) -> None:
        counted = Counted(self._pool.engine.counts)
        if counted != self._told:
            self._told = counted
            self._send(counted)

    def _send(self, message: FromJudge) -> None:
        # Where the other side is gone, ``_listen`` meets that as well.
        with suppress(OSError), self._sending:
            self._connection.send(message)


def ended(key: str, row: Row | BaseException) -> Done | Failed:
    """Return what is said of an item that has come to ``row``."""
    if not isinstance(row, Row):
        return Failed(key, _told_as(row))
    try:
        row_json = row.model_dump_json()
        return Done(key, gist_of(row), row_json)
    except Exception as error:  # noqa: BLE001  the other side waits for a word of every item
        return Failed(key, _told_as(error))


def _told_as(error: BaseException) -> EvalError:
    if isinstance(error, EvalError):
        return error
    return JudgeProcessError(
        "the process that judges",
        "".join(traceback.format_exception(error)),
        "no error of its own",
        "This is a fault of this project: please report it.",
    )


def _changed_inputs(key: str) -> EvalError:
    return JudgeProcessError(
        f"item {key}",
        "no such case where it is judged",
        "inputs that stay the same while a run reads them",
        "Run again.",
    )

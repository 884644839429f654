"""The SQLite file (WAL) that answers and deliveries share: made, opened, checked, locked."""

import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from evals.errors import StoreError
from evals.files import make_private
from evals.judging.store.faults import READ_ONLY, code_of, fault_of
from evals.judging.store.schema import APPLICATION_ID, SCHEMA_VERSION, statements_from

BUSY_TIMEOUT_S = 30.0
"""How long a call waits for another process that writes."""
_FIRST_VERSION = 1
_ELSEWHERE = "Choose another --store."


class StoreFile:
    """One open store file.

    Several processes may have the file open, each with an object of its own, made after any fork.
    Within a process one object may be used from any thread: a lock makes its calls one at a time.
    With ``synchronous=NORMAL`` a commit survives the death of the process, and can be lost only
    with the machine's power.
    """

    def __init__(self, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Open the file, and create it (0600, in a folder made 0700) where there is none.

        A file of an older schema version is brought to ours; one that may not be written is read as
        it is.

        Args:
            path: the file.
            busy_timeout_s: how long a call waits for another process that writes.

        Raises:
            StoreError: it cannot be opened, is no store, or has a newer schema version.
        """
        self.path = path
        self._busy_timeout_s = self._waits_s = busy_timeout_s
        self._lock = threading.Lock()
        try:
            if path.is_dir():
                raise self._error("a folder", "a file", _ELSEWHERE)
            if not path.exists():
                _create(path)
        except OSError as error:
            raise self._error(str(error), "a file that can be made", _ELSEWHERE) from error
        except sqlite3.Error as error:
            raise self._error(*fault_of(error, busy_timeout_s)) from error
        with self._told():
            self._db = _connect(path, busy_timeout_s)
            self._place = _place_of(path)
            try:
                # Before anything is written, so that a foreign file stays as it is.
                version = self._checked_version()
                self._use_wal()
                self._db.execute("PRAGMA synchronous = NORMAL")
                if version < SCHEMA_VERSION:
                    self._migrate()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            self._db.close()

    def _checked_version(self) -> int:
        if self._pragma("application_id") != APPLICATION_ID:
            raise self._error(
                "a file of another program, or what is left of a store that was cut off",
                "an answer store",
                "Restore it from a copy, or choose another --store.",
            )
        version = int(self._pragma("user_version"))
        if not _FIRST_VERSION <= version <= SCHEMA_VERSION:
            raise self._error(
                f"schema version {version}",
                f"version {SCHEMA_VERSION} or an older one",
                "Use the version of this project that wrote it, or choose another --store.",
            )
        return version

    def _use_wal(self) -> None:
        if self._pragma("journal_mode") == "wal":
            return
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # Switching does not wait for locks. Whoever else has the file open switches it, too;
            # and a file that is only read needs no journal.
            if code_of(error) not in READ_ONLY | {sqlite3.SQLITE_BUSY}:
                raise

    def _migrate(self) -> None:
        try:
            with self._transaction():
                # Looked at again: another process may have done it before this one had the lock.
                version = self._checked_version()
                if version < SCHEMA_VERSION:
                    for statement in statements_from(version):
                        self._db.execute(statement)
        except sqlite3.OperationalError as error:
            if code_of(error) not in READ_ONLY:
                raise
            # Not ours to change: what it holds is read as it is.

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk may have ended it already
                self._db.execute("ROLLBACK")
            raise

    def _pragma(self, name: str) -> Any:
        return self._db.execute(f"PRAGMA {name}").fetchone()[0]

    @contextmanager
    def _told(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
                self._wait_for_others(self._busy_timeout_s)
            except sqlite3.Error as error:
                if code_of(error) == sqlite3.SQLITE_BUSY:
                    # Waited for in vain: each of the answers on their way would wait as long again,
                    # one after the other, though it may well be let in.
                    with suppress(sqlite3.ProgrammingError):  # closed where it cannot be opened
                        self._wait_for_others(0)
                raise self._error(*fault_of(error, self._busy_timeout_s)) from error

    def _wait_for_others(self, timeout_s: float) -> None:
        if timeout_s != self._waits_s:
            self._db.execute(f"PRAGMA busy_timeout = {timeout_s * 1000:.0f}")
            self._waits_s = timeout_s

    def _check_place(self) -> None:
        """Check that what is written is what stands at the path.

        SQLite goes on writing into a file that was deleted or replaced, and all of it is lost.

        Raises:
            StoreError: it is not.
        """
        if _place_of(self.path) != self._place:
            raise self._error(
                "another file, or none, in its place since it was opened",
                "the same file as long as a run goes on",
                "Leave the store alone while it is in use; what was answered since is lost.",
            )

    def _error(self, found: str, wanted: str, todo: str) -> StoreError:
        return StoreError(str(self.path), found, wanted, todo)


def _place_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )


def _create(path: Path) -> None:
    # Made whole beside its place and linked there, so that of several processes that start together
    # one makes the store and nobody sees half of one. (Switching an open file to WAL does not wait
    # for locks.) It is private from its first byte; SQLite gives -wal and -shm the same mode.
    make_private(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    try:
        with closing(_connect(Path(name), BUSY_TIMEOUT_S)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            for statement in statements_from(0):
                db.execute(statement)
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()

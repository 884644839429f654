"""The SQLite file (WAL) that answers and deliveries share: made, opened, checked, locked."""

import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from evals.errors import StoreError
from evals.files import OWNER_ONLY, make_private
from evals.judging.store.faults import DAMAGED, READ_ONLY, code_of, fault_of
from evals.judging.store.schema import APPLICATION_ID, SCHEMA_VERSION, statements_from

BUSY_TIMEOUT_S = 30.0
"""How long a call waits for another process that writes."""
_FIRST_VERSION = 1
_ELSEWHERE = "Choose another --store."
_CUT_OFF = "a file of another program, or what is left of a store that was cut off"
_RESTORE = "Restore it from a copy, or choose another --store."


class StoreFile:
    """One open store file.

    Several processes may have the file open, each with an object of its own, made after any fork.
    Within a process one object may be used from any thread: a lock makes its calls one at a time.
    With ``synchronous=NORMAL`` a commit survives the death of the process, and can be lost only
    with the machine's power.
    """

    def __init__(self, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Open the file, and create it (0600, in a folder made 0700) where there is none.

        An empty file becomes a store, as does what a link leads to. A file of an older schema
        version is brought to ours; one that may not be written is read as it is.

        Args:
            path: the file.
            busy_timeout_s: how long a call waits for another process that writes.

        Raises:
            StoreError: it cannot be opened, is no store, or has a newer schema version.
        """
        self.path = path
        self._busy_timeout_s = self._waits_s = busy_timeout_s
        self._lock = threading.Lock()
        self._size_bytes = 0
        """Of the file when it was last looked at; what is in -wal is not in it yet."""
        self._is_cut_off = False
        try:
            self._prepare()
        except OSError as error:
            raise self._error(str(error), "a file that can be made", _ELSEWHERE) from error
        except sqlite3.Error as error:
            raise self._error(*fault_of(error, busy_timeout_s)) from error
        with self._told():
            self._db = _connect(path, busy_timeout_s)
            self._place = _place_of(_stat_of(path))
            try:
                # Before anything is written, so that a foreign file stays as it is.
                version = self._checked_version()
                if version == 0:
                    # Before it is a WAL file, so that nobody sees half of a store.
                    self._migrate(version)
                self._use_wal()
                self._db.execute("PRAGMA synchronous = NORMAL")
                if 0 < version < SCHEMA_VERSION:
                    self._migrate(version)
                self._check_place()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file; may be called twice. What was cut off is marked as no store any more."""
        with self._lock:
            # By closing, SQLite writes what it still has over what is left, which then looks whole.
            with suppress(StoreError, sqlite3.Error):
                self._check_place()
            if self._is_cut_off:
                with suppress(sqlite3.Error):
                    self._db.execute("PRAGMA application_id = 0")
            self._db.close()

    def check(self) -> None:
        """Check that the file is still in its place, and that nothing of it was found to be gone.

        Raises:
            StoreError: it was deleted, replaced or cut off while it was open.
        """
        with self._told():
            self._check_place()
            self._checked_version()  # another process may have found it, and marked the file

    def _prepare(self) -> None:
        # By its real name: where a link leads to nothing, what it leads to is made.
        path = Path(os.path.realpath(self.path))
        if path.is_dir():
            raise self._error("a folder", "a file", _ELSEWHERE)
        if not path.exists():
            _create(path)
            return
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise self._error("no file but a device or the like", "a file", _ELSEWHERE)
        if found.st_size == 0 and not _is_empty(Path(f"{path}-wal")):
            raise self._error(_CUT_OFF, "an answer store", _RESTORE)
        if found.st_size == 0:
            path.chmod(OWNER_ONLY)

    def _checked_version(self) -> int:
        """Return the schema version of a store, 0 for an empty file."""
        if _is_empty(self.path):
            return 0
        if self._pragma("application_id") != APPLICATION_ID:
            raise self._error(_CUT_OFF, "an answer store", _RESTORE)
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

    def _migrate(self, version: int) -> None:
        try:
            with self._transaction():
                # Looked at again: another process may have done it before this one had the lock.
                found = self._checked_version()
                if found < SCHEMA_VERSION:
                    for statement in statements_from(found):
                        self._db.execute(statement)
        except sqlite3.OperationalError as error:
            if code_of(error) not in READ_ONLY or version == 0:
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

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._told():
            self._check_place()
            yield

    def _check_place(self) -> None:
        """Check that what is written is what stands at the path, and that nothing of it is gone.

        SQLite goes on writing into a file that was deleted, replaced or cut off, and what it says
        to have kept is lost.

        Raises:
            StoreError: it is not.
        """
        found = _stat_of(self.path)
        if found is None or _place_of(found) != self._place:
            raise self._error(
                "another file, or none, in its place since it was opened",
                "the same file as long as a run goes on",
                "Leave the store alone while it is in use; what was answered since is lost.",
            )
        # Beside a -wal file it only grows, unless it is vacuumed, which leaves it whole.
        if found.st_size < self._size_bytes and not self._is_whole(found.st_size):
            self._is_cut_off = True
            raise self._error(
                f"{found.st_size} of the {self._size_bytes} bytes that it had: it was cut off",
                "a file that is left alone as long as a run goes on",
                "Restore it from a copy, save what is left (sqlite3 FILE .recover | sqlite3 NEW),"
                " or choose another --store.",
            )
        self._size_bytes = found.st_size

    def _is_whole(self, size_bytes: int) -> bool:
        if size_bytes == 0:
            return False  # and not to be opened: SQLite would delete the -wal file
        # Through a connection of its own: this one remembers pages that are gone.
        with closing(_connect(self.path, self._busy_timeout_s)) as db:
            try:
                (application_id,) = db.execute("PRAGMA application_id").fetchone()
                (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
            except sqlite3.DatabaseError as error:
                if code_of(error) in DAMAGED:
                    return False
                raise
        return bool(application_id == APPLICATION_ID and found == "ok")

    def _error(self, found: str, wanted: str, todo: str) -> StoreError:
        return StoreError(str(self.path), found, wanted, todo)


def _stat_of(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _place_of(found: os.stat_result | None) -> tuple[int, int] | None:
    return None if found is None else (found.st_dev, found.st_ino)


def _is_empty(path: Path) -> bool:
    found = _stat_of(path)
    return found is None or found.st_size == 0


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

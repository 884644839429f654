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

APPLICATION_ID = 0x43514556
"""Marks the file as ours in SQLite's header: ``CQEV``."""
SCHEMA_VERSION = 1
_BUSY_TIMEOUT_S = 30.0

_SCHEMA = f"""
CREATE TABLE answers (
    request_hash TEXT PRIMARY KEY,
    message TEXT NOT NULL,
    model_asked TEXT NOT NULL,
    model_served TEXT NOT NULL,
    received_at TEXT
) STRICT;
CREATE TABLE results (
    run_id TEXT NOT NULL,
    case_id TEXT NOT NULL,
    row TEXT NOT NULL,
    PRIMARY KEY (run_id, case_id)
) STRICT;
CREATE TABLE run_states (
    run_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


class StoreFile:
    """One open store file.

    Several processes may have the file open, each with an object of its own, made after any fork.
    Within a process one object may be used from any thread: a lock makes its calls one at a time.
    With ``synchronous=NORMAL`` a commit survives the death of the process, and can be lost only
    with the machine's power.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, and create it (0600, in a folder made 0700) where there is none.

        Raises:
            StoreError: it cannot be opened, is no store, or has another schema version.
        """
        self.path = path
        self._lock = threading.Lock()
        try:
            if not path.exists():
                _create(path)
        except (OSError, sqlite3.Error) as error:
            raise self._error(str(error), "a writable file", "Choose another --store.") from error
        with self._told():
            self._db = _connect(path)
            try:
                # Before anything is written, so that a foreign file stays as it is.
                self._check_version()
                if self._pragma("journal_mode") != "wal":
                    self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            self._db.close()

    def _check_version(self) -> None:
        if self._pragma("application_id") != APPLICATION_ID:
            raise self._error(
                "a file of another program", "an answer store", "Choose another --store."
            )
        version = self._pragma("user_version")
        if version != SCHEMA_VERSION:
            raise self._error(
                f"schema version {version}",
                f"version {SCHEMA_VERSION}",
                "Use the version of this project that wrote it, or choose another --store.",
            )

    def _pragma(self, name: str) -> Any:
        return self._db.execute(f"PRAGMA {name}").fetchone()[0]

    @contextmanager
    def _told(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise self._error(
                    str(error),
                    "a readable and writable answer store",
                    "Check disk and permissions, or choose another --store.",
                ) from error

    def _error(self, found: str, wanted: str, todo: str) -> StoreError:
        return StoreError(str(self.path), found, wanted, todo)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )


def _create(path: Path) -> None:
    # Made whole beside its place and linked there, so that of several processes that start together
    # one makes the store and nobody sees half of one. (Switching an open file to WAL does not wait
    # for locks.) It is private from its first byte; SQLite gives -wal and -shm the same mode.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    try:
        with closing(_connect(Path(name))) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(_SCHEMA)
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()

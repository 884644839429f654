"""The answer store: every paid answer, and the finished rows of a run, in one SQLite file (WAL)."""

import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterable
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

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

# Not "INSERT OR IGNORE", which would also swallow a row that breaks the schema.
_INSERT = "INSERT INTO answers VALUES (?, ?, ?, ?, ?) ON CONFLICT (request_hash) "
_OVERWRITE = (
    "DO UPDATE SET (message, model_asked, model_served, received_at)"
    " = (excluded.message, excluded.model_asked, excluded.model_served, excluded.received_at)"
)


@dataclass(frozen=True)
class StoredAnswer:
    """One answer as the API gave it."""

    request_hash: str
    """64 hex digits: ``JudgeRequest.request_hash``."""
    message: str
    """The API's Message as JSON text, verbatim."""
    model_asked: str
    model_served: str
    received_at: datetime | None
    """When it came over HTTP, aware; None where it was imported and nobody noted it."""


class AnswerStore:
    """Answers by request hash, rows and flags by run id.

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

    def get(self, request_hash: str) -> StoredAnswer | None:
        """Return the stored answer, or None.

        Raises:
            StoreError: the file cannot be read.
        """
        with self._told():
            row = self._db.execute(
                "SELECT request_hash, message, model_asked, model_served, received_at"
                " FROM answers WHERE request_hash = ?",
                (request_hash,),
            ).fetchone()
        if row is None:
            return None
        received_at = None if row[4] is None else datetime.fromisoformat(row[4])
        return StoredAnswer(row[0], row[1], row[2], row[3], received_at)

    def hashes_starting_with(self, prefix: str) -> tuple[str, ...]:
        """Return the request hashes that start with ``prefix``, sorted, at most 100.

        Raises:
            StoreError: the file cannot be read.
        """
        with self._told():
            rows = self._db.execute(
                "SELECT request_hash FROM answers WHERE substr(request_hash, 1, ?) = ?"
                " ORDER BY request_hash LIMIT 100",
                (len(prefix), prefix),
            ).fetchall()
        return tuple(row[0] for row in rows)

    def put(self, answer: StoredAnswer) -> StoredAnswer:
        """Commit one answer; where the hash has one already, the first stays.

        Returns:
            The answer that stands: ``answer``, or the earlier one.

        Raises:
            StoreError: it cannot be written.
        """
        with self._told():
            inserted = self._db.execute(_INSERT + "DO NOTHING", _columns(answer)).rowcount
        if inserted:
            return answer
        earlier = self.get(answer.request_hash)
        assert earlier is not None, "answers are never deleted"
        return earlier

    def put_all(self, answers: Iterable[StoredAnswer], *, replace: bool = False) -> int:
        """Commit many answers in one transaction: all or none.

        Args:
            answers: what to store.
            replace: overwrite an answer that is there; otherwise the first stays.

        Returns:
            How many were written.

        Raises:
            StoreError: they cannot be written.
        """
        statement = _INSERT + (_OVERWRITE if replace else "DO NOTHING")
        rows = [_columns(answer) for answer in answers]
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                written = self._db.executemany(statement, rows).rowcount
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        return written

    def put_result(self, run_id: str, case_id: str, row: str) -> None:
        """Commit what a case of a run came to; the last word stays.

        Args:
            run_id: the run.
            case_id: the case's key, unique in the run.
            row: JSON text for whoever reads it: xdist workers.

        Raises:
            StoreError: it cannot be written.
        """
        with self._told():
            self._db.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?)", (run_id, case_id, row)
            )

    def get_result(self, run_id: str, case_id: str) -> str | None:
        """Return what ``put_result`` wrote, or None where nothing is there yet.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._one(
            "SELECT row FROM results WHERE run_id = ? AND case_id = ?", run_id, case_id
        )

    def set_state(self, run_id: str, name: str, value: str) -> None:
        """Commit a flag of a run; the last word stays.

        Raises:
            StoreError: it cannot be written.
        """
        with self._told():
            self._db.execute(
                "INSERT OR REPLACE INTO run_states VALUES (?, ?, ?)", (run_id, name, value)
            )

    def get_state(self, run_id: str, name: str) -> str | None:
        """Return a flag of a run, or None where it is not set.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._one("SELECT value FROM run_states WHERE run_id = ? AND name = ?", run_id, name)

    def clear_results(self, run_id: str) -> None:
        """Delete a run's results and flags; answers are never deleted.

        Raises:
            StoreError: they cannot be deleted.
        """
        with self._told():
            self._db.execute("DELETE FROM results WHERE run_id = ?", (run_id,))
            self._db.execute("DELETE FROM run_states WHERE run_id = ?", (run_id,))

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            self._db.close()

    def _one(self, query: str, *values: str) -> str | None:
        with self._told():
            row = self._db.execute(query, values).fetchone()
        return None if row is None else str(row[0])

    @contextmanager
    def _told(self) -> "Iterator[None]":
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


def same_message(one: str, other: str) -> bool:
    """Tell whether two JSON texts say the same."""
    return one == other or bool(json.loads(one) == json.loads(other))


def _columns(answer: StoredAnswer) -> tuple[str, str, str, str, str | None]:
    received_at = None if answer.received_at is None else answer.received_at.isoformat()
    return (
        answer.request_hash,
        answer.message,
        answer.model_asked,
        answer.model_served,
        received_at,
    )

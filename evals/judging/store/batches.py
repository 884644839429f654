"""Message Batches that were sent and whose results are not all in yet.

A batch is written down twice: what is asked in it before it is sent, and the server's id for it as
soon as the server has said it. So whenever a process dies, the next one knows which requests may be
under way, and asks none of them again without having looked.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from evals.judging.store.file import StoreFile


@dataclass(frozen=True)
class OpenBatch:
    """One batch that has not ended."""

    submission: str
    """Our name for it."""
    batch_id: str | None
    """The server's; None where it was being sent and the answer was not heard."""
    model_asked: str
    """Of every request in it."""
    submitted_at: datetime
    """When sending began, aware."""
    requests: int


class Batches(StoreFile):
    """The batches of every run that shares the file, by the server that they were sent to."""

    def begin_batch(
        self, server: str, model_asked: str, request_hashes: Iterable[str], at: datetime
    ) -> str:
        """Commit what is about to be sent; to be called before anything is.

        Args:
            server: address, without credentials.
            model_asked: of every request in it.
            request_hashes: what is asked, each once.
            at: now, aware.

        Returns:
            The submission, which names the batch from now on.

        Raises:
            StoreError: it cannot be written.
        """
        submission = str(uuid4())
        with self._writing(), self._transaction():
            self._db.execute(
                "INSERT INTO batches VALUES (?, NULL, ?, ?, ?, NULL)",
                (submission, server, model_asked, at.isoformat()),
            )
            self._db.executemany(
                "INSERT INTO batch_requests VALUES (?, ?)",
                ((submission, request_hash) for request_hash in request_hashes),
            )
        return submission

    def name_batch(self, submission: str, batch_id: str) -> None:
        """Commit the server's id of a batch that it has accepted.

        Raises:
            StoreError: it cannot be written.
        """
        with self._writing():
            self._db.execute(
                "UPDATE batches SET batch_id = ? WHERE submission = ?", (batch_id, submission)
            )

    def copy_batch(self, submission: str, batch_id: str) -> str:
        """Commit another batch of the server that may hold what ``submission`` asked.

        Returns:
            The submission that names it.

        Raises:
            StoreError: it cannot be written.
        """
        copy = str(uuid4())
        with self._writing(), self._transaction():
            self._db.execute(
                "INSERT INTO batches SELECT ?, ?, server, model_asked, submitted_at, NULL"
                " FROM batches WHERE submission = ?",
                (copy, batch_id, submission),
            )
            self._db.execute(
                "INSERT INTO batch_requests SELECT ?, request_hash FROM batch_requests"
                " WHERE submission = ?",
                (copy, submission),
            )
        return copy

    def drop_batch(self, submission: str) -> None:
        """Forget a batch that the server never accepted.

        Raises:
            StoreError: it cannot be written.
        """
        with self._writing(), self._transaction():
            self._db.execute("DELETE FROM batch_requests WHERE submission = ?", (submission,))
            self._db.execute("DELETE FROM batches WHERE submission = ?", (submission,))

    def end_batch(self, submission: str, at: datetime) -> None:
        """Commit that nothing more comes of a batch; what was asked in it may be asked again.

        Raises:
            StoreError: it cannot be written.
        """
        with self._writing(), self._transaction():
            self._db.execute("DELETE FROM batch_requests WHERE submission = ?", (submission,))
            self._db.execute(
                "UPDATE batches SET ended_at = ? WHERE submission = ?",
                (at.isoformat(), submission),
            )

    def open_batches(self, server: str) -> tuple[OpenBatch, ...]:
        """Return the batches at ``server`` that have not ended, oldest first.

        Raises:
            StoreError: the file cannot be read.
        """
        with self._told():
            rows = self._db.execute(
                "SELECT submission, batch_id, model_asked, submitted_at,"
                " (SELECT count(*) FROM batch_requests r WHERE r.submission = b.submission)"
                " FROM batches b WHERE server = ? AND ended_at IS NULL"
                " ORDER BY submitted_at, submission",
                (server,),
            ).fetchall()
        return tuple(
            OpenBatch(row[0], row[1], row[2], datetime.fromisoformat(row[3]), row[4])
            for row in rows
        )

    def requests_under_way(self) -> int:
        """Return how many requests are in batches that have not ended, at whatever server.

        Raises:
            StoreError: the file cannot be read.
        """
        with self._told():
            row = self._db.execute(
                "SELECT count(DISTINCT request_hash) FROM batch_requests"
            ).fetchone()
        return int(row[0])

    def hashes_in_batch(self, submission: str) -> tuple[str, ...]:
        """Return what is asked in a batch that has not ended, sorted.

        Raises:
            StoreError: the file cannot be read.
        """
        with self._told():
            rows = self._db.execute(
                "SELECT request_hash FROM batch_requests WHERE submission = ?"
                " ORDER BY request_hash",
                (submission,),
            ).fetchall()
        return tuple(row[0] for row in rows)

    def batch_ids(self, server: str) -> frozenset[str]:
        """Return every id that ``server`` is known to have given, of ended batches too.

        Raises:
            StoreError: the file cannot be read.
        """
        with self._told():
            rows = self._db.execute(
                "SELECT batch_id FROM batches WHERE server = ? AND batch_id IS NOT NULL", (server,)
            ).fetchall()
        return frozenset(row[0] for row in rows)

"""Every paid answer, by the hash of its request."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from evals.judging.store.batches import Batches
from evals.judging.store.deliveries import Deliveries

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


class AnswerStore(Deliveries, Batches):
    """Answers by request hash, in one file with the deliveries and open batches of runs.

    How processes and threads share it, and what survives a crash: see ``StoreFile``.
    """

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
        with self._writing():
            inserted = self._db.execute(_INSERT + "DO NOTHING", _columns(answer)).rowcount
        if inserted:
            return answer
        return self._standing(answer)

    def put_each(self, answers: Sequence[StoredAnswer]) -> list[StoredAnswer]:
        """Commit many answers in one transaction, each as ``put`` does.

        Returns:
            The answer that stands for each, in their order.

        Raises:
            StoreError: they cannot be written, none of them.
        """
        with self._writing(), self._transaction():
            inserted = [
                self._db.execute(_INSERT + "DO NOTHING", _columns(answer)).rowcount
                for answer in answers
            ]
        pairs = zip(answers, inserted, strict=True)
        return [answer if is_new else self._standing(answer) for answer, is_new in pairs]

    def put_all(self, answers: Iterable[StoredAnswer], *, replace: bool = False) -> int:
        """Commit many answers in one transaction: all or none.

        Args:
            answers: what to store; read one by one, without touching this store meanwhile.
            replace: overwrite an answer that is there; otherwise the first stays.

        Returns:
            How many were written.

        Raises:
            StoreError: they cannot be written.
        """
        statement = _INSERT + (_OVERWRITE if replace else "DO NOTHING")
        rows = map(_columns, answers)  # one by one: an import can be of a hundred thousand
        with self._writing(), self._transaction():
            return self._db.executemany(statement, rows).rowcount

    def _standing(self, answer: StoredAnswer) -> StoredAnswer:
        earlier = self.get(answer.request_hash)
        assert earlier is not None, "answers are never deleted"
        return earlier


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

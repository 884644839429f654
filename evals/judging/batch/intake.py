"""Result lines of one batch -> the answer store, joined by custom id; each ends as one outcome."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from evals.judging.batch.failures import Failure, of_result, unusable
from evals.judging.batch.wire import NotOfTheApiError, ResultLine, Succeeded, read
from evals.judging.message import ApiMessage, NotAMessageError, parse_message
from evals.judging.store import AnswerStore, OpenBatch, StoredAnswer, same_message

_AT_ONCE = 500
"""Answers in one transaction of the store."""
_CHECK_SERVER = "Check ANTHROPIC_BASE_URL: a server that says keys back is not to be trusted."


Bought = Literal["own", "taken_up", "known"]
"""Whom an answer is counted for, once however often it is downloaded: this run, which sent the
request; this run, which takes up what an earlier one sent; or whoever took it in before, in an
earlier download or in another run."""


@dataclass(frozen=True)
class Taken:
    """What the results of one batch came to."""

    answered: frozenset[str]
    """Requests whose answer is in the store now."""
    failed: dict[str, Failure]
    """Requests of the batch that are not, those without any result included."""
    doubled: int
    """Further results of a request, the same as its first."""
    contradicted: int
    """Further results of a request that say something else: the first stands."""
    strangers: int
    """Results of requests that were never in the batch: not stored."""
    unreadable: int
    """Lines that are no results."""


class Intake:
    """Takes the lines of one download; a download that is begun anew gets a new one."""

    def __init__(
        self,
        store: AnswerStore,
        batch: OpenBatch,
        asked: Iterable[str],
        check_model: Callable[[str, ApiMessage], None],
        answered: Callable[[str, ApiMessage, Bought], None],
        *,
        is_own: bool,
        hide: Callable[[str], str],
    ) -> None:
        """Take nothing yet.

        Args:
            store: written in transactions of 500 answers.
            batch: whose results come.
            asked: the request hashes in it.
            check_model: told the request hash and the answer; raises where another model answered.
            answered: told the request hash and the answer, once it is stored, and who bought it.
            is_own: whether this run sent the batch; else an earlier one did, or another.
            hide: takes the key out of what a server says.
        """
        self._store = store
        self._batch = batch
        self._asked = frozenset(asked)
        self._check_model = check_model
        self._heard = answered
        self._bought: Bought = "own" if is_own else "taken_up"
        self._hide = hide
        self._pending: dict[str, _Pending] = {}
        self._answered: set[str] = set()
        self._failed: dict[str, Failure] = {}
        self._doubled = self._contradicted = self._strangers = self._unreadable = 0

    def take(self, line: bytes) -> None:
        """Take one line.

        Raises:
            WrongModelError: another model answered; what came before is stored.
            StoreError: the store cannot be written.
        """
        try:
            found = read(ResultLine, line)
        except NotOfTheApiError:
            self._unreadable += 1
            return
        if found.custom_id not in self._asked:
            self._strangers += 1
        elif isinstance(found.result, Succeeded):
            self._take_message(found.custom_id, found.result)
        elif found.custom_id not in self._answered:
            self._failed.setdefault(found.custom_id, of_result(found, self._hide))

    def finish(self) -> Taken:
        """Store what is left; to be called once no line comes any more.

        Raises:
            StoreError: the store cannot be written.
        """
        self._flush()
        answered = frozenset(self._answered)
        missing = unusable("no result in a batch that has ended")
        failed = dict.fromkeys(self._asked - answered, missing)
        failed |= {each: why for each, why in self._failed.items() if each in failed}
        return Taken(
            answered=answered,
            failed=failed,
            doubled=self._doubled,
            contradicted=self._contradicted,
            strangers=self._strangers,
            unreadable=self._unreadable,
        )

    def _take_message(self, request_hash: str, result: Succeeded) -> None:
        text = json.dumps(result.message, ensure_ascii=False)
        if request_hash in self._answered:
            same = same_message(self._standing(request_hash), text)
            self._doubled += same
            self._contradicted += not same
            return
        if self._hide(text) != text:
            # It would be kept in the store, in rows and on pages.
            self._failed.setdefault(request_hash, _says_key())
            return
        try:
            message = parse_message(text)
        except NotAMessageError as error:
            what = f"an answer that is no Message ({error})"
            self._failed.setdefault(request_hash, unusable(what))
            return
        try:
            self._check_model(request_hash, message)
        except BaseException:
            self._flush()
            raise
        self._answered.add(request_hash)
        answer = StoredAnswer(
            request_hash=request_hash,
            message=text,
            model_asked=self._batch.model_asked,
            model_served=message.model,
            received_at=datetime.now(UTC),
        )
        self._pending[request_hash] = _Pending(answer, message)
        if len(self._pending) >= _AT_ONCE:
            self._flush()

    def _standing(self, request_hash: str) -> str:
        if request_hash in self._pending:
            return self._pending[request_hash].answer.message
        stored = self._store.get(request_hash)
        assert stored is not None, "answers are never deleted"
        return stored.message

    def _flush(self) -> None:
        pending = self._pending
        standing = self._store.put_each([each.answer for each in pending.values()])
        self._pending = {}
        for (request_hash, each), stands in zip(pending.items(), standing, strict=True):
            # What stands can also be another answer, which was paid for beside this one.
            is_known = stands is not each.answer and same_message(
                stands.message, each.answer.message
            )
            self._heard(request_hash, each.message, "known" if is_known else self._bought)


def _says_key() -> Failure:
    what = "an answer that says the API key back"
    return Failure("give_up", what, _CHECK_SERVER, may_be_billed=True)


class _Pending(NamedTuple):
    answer: StoredAnswer
    message: ApiMessage

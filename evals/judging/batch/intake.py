"""Result lines of one batch -> the answer store, joined by custom id; each ends as one outcome."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from evals.judging.batch.wire import (
    Errored,
    NotOfTheApiError,
    ResultLine,
    Succeeded,
    read,
)
from evals.judging.message import ApiMessage, NotAMessageError, parse_message
from evals.judging.store import AnswerStore, OpenBatch, StoredAnswer, same_message
from evals.untrusted import for_terminal

_AT_ONCE = 500
"""Answers in one transaction of the store."""
_FOR_GOOD = frozenset(
    [
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
    ]
)
"""Error types that the same request meets again; any other may pass."""
_DETAIL_LENGTH = 200
RUN_AGAIN = "Run again: what is answered is kept. Or raise --max-attempts."
_CHECK_SERVER = "Check ANTHROPIC_BASE_URL: a server that says keys back is not to be trusted."

Follow = Literal["again", "give_up"]
"""What follows from a result without an answer: it is asked again, or never in this run."""


@dataclass(frozen=True)
class Failure:
    """A request that came back without an answer."""

    follow: Follow
    what: str
    """Fit for a terminal."""
    todo: str
    """For the reader, where it is not asked again."""


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
        *,
        hide: Callable[[str], str],
    ) -> None:
        """Take nothing yet.

        Args:
            store: written in transactions of 500 answers.
            batch: whose results come.
            asked: the request hashes in it.
            check_model: told the request hash and the answer; raises where another model answered.
            hide: takes the key out of what a server says.
        """
        self._store = store
        self._batch = batch
        self._asked = frozenset(asked)
        self._check_model = check_model
        self._hide = hide
        self._pending: dict[str, StoredAnswer] = {}
        self._answered: set[str] = set()
        self._failed: dict[str, Failure] = {}
        self._doubled = self._contradicted = self._strangers = self._unreadable = 0

    def take(self, line: bytes) -> tuple[str, ApiMessage] | None:
        """Take one line.

        Returns:
            Request hash and answer, where the line holds the first one to a request of the batch.

        Raises:
            WrongModelError: another model answered; what came before is stored.
            StoreError: the store cannot be written.
        """
        try:
            found = read(ResultLine, line)
        except NotOfTheApiError:
            self._unreadable += 1
            return None
        if found.custom_id not in self._asked:
            self._strangers += 1
            return None
        if isinstance(found.result, Succeeded):
            return self._take_message(found.custom_id, found.result)
        if found.custom_id not in self._answered:
            self._failed.setdefault(found.custom_id, _failure_of(found, self._hide))
        return None

    def finish(self) -> Taken:
        """Store what is left; to be called once no line comes any more.

        Raises:
            StoreError: the store cannot be written.
        """
        self._flush()
        answered = frozenset(self._answered)
        missing = Failure("again", "no result in a batch that has ended", RUN_AGAIN)
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

    def _take_message(self, request_hash: str, result: Succeeded) -> tuple[str, ApiMessage] | None:
        text = json.dumps(result.message, ensure_ascii=False)
        if request_hash in self._answered:
            same = same_message(self._standing(request_hash), text)
            self._doubled += same
            self._contradicted += not same
            return None
        if self._hide(text) != text:
            # It would be kept in the store, in rows and on pages.
            what = "an answer that says the API key back"
            self._failed.setdefault(request_hash, Failure("give_up", what, _CHECK_SERVER))
            return None
        try:
            message = parse_message(text)
        except NotAMessageError as error:
            what = f"an answer that is no Message ({error})"
            self._failed.setdefault(request_hash, Failure("again", what, RUN_AGAIN))
            return None
        try:
            self._check_model(request_hash, message)
        except BaseException:
            self._flush()
            raise
        self._answered.add(request_hash)
        self._pending[request_hash] = StoredAnswer(
            request_hash=request_hash,
            message=text,
            model_asked=self._batch.model_asked,
            model_served=message.model,
            received_at=datetime.now(UTC),
        )
        if len(self._pending) >= _AT_ONCE:
            self._flush()
        return request_hash, message

    def _standing(self, request_hash: str) -> str:
        if request_hash in self._pending:
            return self._pending[request_hash].message
        stored = self._store.get(request_hash)
        assert stored is not None, "answers are never deleted"
        return stored.message

    def _flush(self) -> None:
        self._store.put_all(self._pending.values())
        self._pending = {}


def _failure_of(line: ResultLine, hide: Callable[[str], str]) -> Failure:
    result = line.result
    if isinstance(result, Errored):
        error = result.error.error
        what = for_terminal(hide(f"{error.type}: {error.message}"), _DETAIL_LENGTH)
        if error.type not in _FOR_GOOD:
            return Failure("again", what, RUN_AGAIN)
        todo = "The server refuses this request as it stands: check model, prompt and limits."
        return Failure("give_up", what, todo)
    if result.type == "canceled":
        what = "canceled at the server before it was answered"
        return Failure("give_up", what, "Run again: it is asked anew.")
    if result.type == "expired":
        return Failure("again", "expired before it was answered", RUN_AGAIN)
    what = for_terminal(hide(f"a result of type {result.type!r}"), _DETAIL_LENGTH)
    return Failure("again", what, RUN_AGAIN)

"""From a spooled batch to the server's id for it, and never to two of them.

The API knows no id of the sender's and no idempotency key, so whether a batch was accepted whose
answer was lost (a broken connection, a killed process) can only be found out by looking: at the
batches of about that time with as many requests, which are not known from elsewhere. What is taken
for ours and is not does no harm but waiting: results are joined by request hash.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from evals.judging.batch.api import BatchesApi
from evals.judging.batch.spool import SpooledBatch
from evals.judging.retry import RetryPolicy, Tries
from evals.judging.store import AnswerStore, OpenBatch
from evals.judging.transport import AttemptError

_CLOCK_SKEW = timedelta(minutes=10)
_LONGEST_SENDING = timedelta(hours=2)
_REFUSED = range(300, 500)
_OVERLOADED = 529


class NotAcceptedError(Exception):
    """A batch was not accepted, as far as anybody heard. Never leaves ``evals.judging.batch``."""

    def __init__(self, failure: AttemptError, submission: str, *, in_doubt: bool) -> None:
        """State what happened.

        Args:
            failure: the last attempt.
            submission: names the batch in the store, where it stays while that is in doubt.
            in_doubt: whether it may have been accepted all the same.
        """
        super().__init__(failure)
        self.failure = failure
        self.submission = submission
        self.in_doubt = in_doubt


class Sender:
    """Sends batches, and finds those that were sent when nobody heard the answer."""

    def __init__(
        self,
        api: BatchesApi,
        store: AnswerStore,
        policy: RetryPolicy,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Put it together; nothing is sent.

        Args:
            api: where to.
            store: where it is written down.
            policy: how often, and after how long.
            sleep: waits a number of seconds.
            clock: seconds that only grow.
            chance: jitter, 0 to 1.
            now: aware.
        """
        self._api = api
        self._store = store
        self._policy = policy
        self._sleep = sleep
        self._clock = clock
        self._chance = chance
        self._now = now

    async def send(self, batch: SpooledBatch) -> tuple[OpenBatch, ...]:
        """Send a batch until it is accepted, and write down its id before anything else happens.

        Returns:
            The batch, named; several where it cannot be told which of them is ours.

        Raises:
            NotAcceptedError: it was not; or nobody knows, and it is to be looked for: ``recover``.
            StoreError: it cannot be written down; nothing was sent.
        """
        at = self._now()
        hashes = batch.hashes
        submission = self._store.begin_batch(self._api.server, batch.model, hashes, at)
        begun = OpenBatch(submission, None, batch.model, at, len(hashes))
        tries = self._tries()
        in_doubt = False
        while True:
            try:
                found = await self._accepted(begun) if in_doubt else ()
                if found:
                    return found
                in_doubt = False
                state = await self._api.create(batch)
            except AttemptError as failure:
                in_doubt = in_doubt or not _was_not_taken(failure)
                if _is_over(tries, failure):
                    if not in_doubt:
                        self._store.drop_batch(submission)
                    raise NotAcceptedError(failure, submission, in_doubt=in_doubt) from None
                await self._sleep(tries.wait_s)
            else:
                self._store.name_batch(submission, state.id)
                return (replace(begun, batch_id=state.id),)

    async def recover(self, begun: OpenBatch, *, is_own: bool) -> tuple[OpenBatch, ...]:
        """Find a batch that was being sent when the process ended, or whose sending was broken off.

        Args:
            begun: the batch.
            is_own: whether this process sent it, and does so no more.

        Returns:
            The batch, named, as ``send``; none where the server has none. It is forgotten only
            when nobody can be sending it any more: another run on this store may be about to.

        Raises:
            AttemptError: the server does not say.
            StoreError: it cannot be written down.
        """
        tries = self._tries()
        while True:
            try:
                found = await self._accepted(begun)
            except AttemptError as failure:
                if _is_over(tries, failure):
                    raise
                await self._sleep(tries.wait_s)
            else:
                is_over = is_own or self._now() > begun.submitted_at + _LONGEST_SENDING
                if not found and is_over:
                    self._store.drop_batch(begun.submission)
                return found

    def _tries(self) -> Tries:
        return Tries(self._policy, self._clock, self._chance)

    async def _accepted(self, begun: OpenBatch) -> tuple[OpenBatch, ...]:
        states = await self._api.created_since(begun.submitted_at - _CLOCK_SKEW)
        latest = begun.submitted_at + _LONGEST_SENDING
        known = self._store.batch_ids(self._api.server)
        ids = [
            state.id
            for state in states
            if state.id not in known
            and state.created_at <= latest
            and state.request_counts.total == begun.requests
        ]
        if not ids:
            return ()
        self._store.name_batch(begun.submission, ids[0])
        others = [
            replace(begun, submission=self._store.copy_batch(begun.submission, each), batch_id=each)
            for each in ids[1:]
        ]
        return (replace(begun, batch_id=ids[0]), *others)


def _was_not_taken(failure: AttemptError) -> bool:
    """Tell whether the server said that it did not take the batch, or was never reached."""
    refused = failure.status == _OVERLOADED or failure.status in _REFUSED
    return refused or failure.unreachable


def _is_over(tries: Tries, failure: AttemptError) -> bool:
    """Take in a failure, and tell whether it is the last."""
    tries.meet(failure)
    return tries.are_over or failure.kind not in {"retry", "slow_down"}

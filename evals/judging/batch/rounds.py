"""The batches of a run: those sent, those that an earlier run left open, and what comes of them."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from evals.judging.batch.api import BatchesApi
from evals.judging.batch.failures import Failure, lost, not_accepted, not_looked_at
from evals.judging.batch.intake import Bought, Intake, Taken
from evals.judging.batch.sending import NotAcceptedError, Sender
from evals.judging.batch.spool import SpooledBatch
from evals.judging.batch.status import RoundStatus
from evals.judging.batch.wire import ENDED, NO_COUNTS, BatchState, RequestCounts, sum_of
from evals.judging.message import ApiMessage
from evals.judging.retry import RetryPolicy, Tries
from evals.judging.store import AnswerStore, OpenBatch
from evals.judging.transport import AttemptError

_GROWTH = 1.5
_LONGEST_POLL_S = 300.0
_PATIENCE_S = 6 * 3600.0
"""How long a server that refuses to say how far a batch is (429, 529) is asked again: nothing is
lost by it, for the batch goes on."""
_NOT_FOUND = 404
_SHOWN = 5


class Follower(Protocol):
    """Hears what comes of requests, each by its hash."""

    def check_model(self, model_asked: str, request_hash: str, message: ApiMessage) -> None:
        """Raise where another model answered than was asked, or than answered before."""
        ...

    def answered(self, request_hash: str, message: ApiMessage, bought: Bought) -> None:
        """Hear of an answer that has been stored."""
        ...

    def failed(self, request_hash: str, failure: Failure) -> None:
        """Hear that a request came back, or never will, without an answer."""
        ...


# By identity: its state changes.
@dataclass(eq=False)
class _Waiting:
    batch: OpenBatch
    hashes: frozenset[str]
    tries: Tries
    """Failed exchanges since the server last said that the batch goes on."""
    counts: RequestCounts
    is_own: bool
    """Sent by this run."""

    @property
    def name(self) -> str:
        assert self.batch.batch_id is not None, "only named batches are waited for"
        return self.batch.batch_id


class Rounds:
    """Sends batches, waits for them and takes their results in. Used on one event loop."""

    def __init__(
        self,
        api: BatchesApi,
        store: AnswerStore,
        policy: RetryPolicy,
        poll_s: float,
        follower: Follower,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Put it together; nothing is sent.

        Args:
            api: the server; closed by ``aclose``.
            store: where batches are written down and answers are kept.
            policy: how often a failed exchange is made again, and after how long.
            poll_s: first wait between two looks at a batch; grows to 5 minutes.
            follower: hears what comes of each request.
            sleep: waits a number of seconds.
            clock: seconds that only grow.
            chance: jitter, 0 to 1.
        """
        self._api = api
        self._store = store
        self._policy = policy
        self._poll_policy = replace(policy, outage_s=_PATIENCE_S)
        self._poll_s = poll_s
        self._follower = follower
        self._sleep = sleep
        self._clock = clock
        self._chance = chance
        self._sender = Sender(api, store, policy, sleep=sleep, clock=clock, chance=chance)
        self._known: set[str] = set()
        """Submissions that were taken up, or sent here, whatever came of them."""
        self._put_off: set[str] = set()
        """Of those sent here: may be accepted, and to be looked for in the next round."""
        self._is_put_off = False
        """Whether anything waits in this round for others to end."""
        self._open: list[_Waiting] = []
        self._waited_for: list[_Waiting] = []
        self._notes: dict[str, None] = {}
        self.number = 0
        """Rounds begun."""

    @property
    def status(self) -> RoundStatus | None:
        """A snapshot; None before the first round."""
        if self.number == 0:
            return None
        waited = self._waited_for
        return RoundStatus(
            number=self.number,
            requests=sum(len(each.hashes) for each in waited),
            batch_ids=tuple(each.name for each in waited),
            counts=sum_of(each.counts for each in waited),
            notes=tuple(self._notes),
        )

    def holds(self, request_hash: str) -> bool:
        """Tell whether a request is in a batch that is still to be heard of."""
        return any(request_hash in each.hashes for each in self._open)

    async def load(self) -> None:
        """Take up what an earlier run, or another one, has open at this server; before each round.

        Raises:
            StoreError: the store cannot be read or written.
        """
        for batch in self._store.open_batches(self._api.server):
            if batch.submission in self._known:
                continue
            self._known.add(batch.submission)
            hashes = self._store.hashes_in_batch(batch.submission)
            is_own = batch.submission in self._put_off
            try:
                named: tuple[OpenBatch, ...] = (batch,)
                if batch.batch_id is None:
                    named = await self._sender.recover(batch, is_own=is_own)
            except AttemptError as failure:
                # Asked again it could be paid for twice.
                unknown = not_accepted(failure, self._api.server, in_doubt=True)
                for request_hash in hashes:
                    self._follower.failed(request_hash, unknown)
            else:
                self._known |= {each.submission for each in named}
                self._open += [self._waiting(each, hashes, is_own=is_own) for each in named]

    async def send(self, batch: SpooledBatch) -> bool:
        """Send a batch; where it is not accepted its requests have failed, or are put off.

        Returns:
            False where the server said that it did not take it.

        Raises:
            StoreError: it cannot be written down.
        """
        try:
            sent = await self._sender.send(batch)
        except NotAcceptedError as error:
            refused = not_accepted(error.failure, self._api.server, in_doubt=error.in_doubt)
            if self._open and error.failure.kind in {"slow_down", "retry"}:
                # Perhaps as many are under way as the server takes at once. Nothing is lost while
                # those go on: so it is sent once they have ended, and looked for before.
                refused = replace(refused, follow="later")
                self._is_put_off = True
                self._put_off.add(error.submission)
                self._note(f"a batch of {len(batch.hashes)} requests was put off: {refused.what}")
            else:
                self._known.add(error.submission)  # what is in doubt the next run looks for
            for request_hash in batch.hashes:
                self._follower.failed(request_hash, refused)
            return error.in_doubt
        for each in sent:
            self._known.add(each.submission)
            self._open.append(self._waiting(each, batch.hashes, is_own=True))
        return True

    async def wait(self, needed: Callable[[frozenset[str]], bool]) -> None:
        """Wait until nothing more is to be heard of the batches that are needed.

        Args:
            needed: tells it of a batch by the request hashes in it.

        Raises:
            WrongModelError: another model answered than the pinned one.
            StoreError: the store cannot be read or written.
        """
        self.number += 1
        is_put_off, self._is_put_off = self._is_put_off, False
        self._waited_for = [each for each in self._open if is_put_off or needed(each.hashes)]
        delays = self._delays_s()
        while self._waited_for:
            await self._sleep(next(delays))
            for each in list(self._waited_for):
                await self._look(each)

    async def aclose(self) -> None:
        """Close connections."""
        await self._api.aclose()

    def _waiting(self, batch: OpenBatch, hashes: Iterable[str], *, is_own: bool) -> _Waiting:
        tries = Tries(self._poll_policy, self._clock, self._chance)
        return _Waiting(batch, frozenset(hashes), tries, NO_COUNTS, is_own)

    def _delays_s(self) -> Iterator[float]:
        if not all(each.is_own for each in self._waited_for):
            yield 0.0  # what an earlier run sent may have ended long ago
        delay_s = self._poll_s
        while True:
            yield delay_s * (0.9 + 0.2 * self._chance())
            delay_s = max(self._poll_s, min(delay_s * _GROWTH, _LONGEST_POLL_S))

    async def _look(self, waiting: _Waiting) -> None:
        try:
            state = await self._api.state(waiting.name)
            waiting.counts = state.request_counts
            if state.processing_status != ENDED:
                waiting.tries = Tries(self._poll_policy, self._clock, self._chance)
            elif state.archived_at is not None:
                self._lose(waiting, "results that the server keeps no longer")
            else:
                await self._take_in(waiting, state)
        except AttemptError as failure:
            waiting.tries.meet(failure)
            if failure.status == _NOT_FOUND:
                if waiting.tries.are_over:
                    self._lose(waiting, f"{failure.what}, {waiting.tries.failures} times")
                # Said once it may be a mistake, and to ask anew is to pay again.
            elif waiting.tries.are_over or failure.kind not in {"retry", "slow_down"}:
                self._forget(waiting)
                gone_on = not_looked_at(failure, self._api.server, waiting.name)
                for request_hash in waiting.hashes:
                    self._follower.failed(request_hash, gone_on)

    async def _take_in(self, waiting: _Waiting, state: BatchState) -> None:
        intake = Intake(
            self._store,
            waiting.batch,
            waiting.hashes,
            partial(self._follower.check_model, waiting.batch.model_asked),
            self._follower.answered,
            is_own=waiting.is_own,
            hide=self._api.hide,
        )
        try:
            async with aclosing(self._api.results(state)) as lines:
                async for line in lines:
                    intake.take(line)
        finally:
            result = intake.finish()
        if result.unreadable:
            # Perhaps they were damaged on the way.
            what = f"{result.unreadable} result lines that cannot be read"
            waiting.tries.meet(AttemptError(what, "retry"))
            if not waiting.tries.are_over:
                return
        for note in _notes_of(result):
            self._note(f"batch {waiting.name}: {note}")
        self._end(waiting, result.failed)

    def _lose(self, waiting: _Waiting, what: str) -> None:
        self._note(
            f"batch {waiting.name}: {what}; what was asked in it is asked anew, and paid for again"
            " if it was answered there"
        )
        gone = lost(f"a batch of which nothing can be had any more ({what})")
        self._end(waiting, dict.fromkeys(waiting.hashes, gone))

    def _end(self, waiting: _Waiting, failed: Mapping[str, Failure]) -> None:
        self._store.end_batch(waiting.batch.submission, datetime.now(UTC))
        self._forget(waiting)
        for request_hash, failure in failed.items():
            self._follower.failed(request_hash, failure)

    def _forget(self, waiting: _Waiting) -> None:
        self._open.remove(waiting)
        self._waited_for.remove(waiting)

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)


def _notes_of(taken: Taken) -> Iterator[str]:
    whats = Counter(failure.what for failure in taken.failed.values())
    for what, number in whats.most_common(_SHOWN):
        yield f"{number} unanswered: {what}"
    if taken.doubled:
        yield f"{taken.doubled} results twice, alike: taken once"
    if taken.contradicted:
        yield f"{taken.contradicted} results twice, and not alike: the first stands"
    if taken.strangers:
        yield f"{taken.strangers} results of requests that were not in it: not kept"
    if taken.unreadable:
        yield f"{taken.unreadable} result lines that cannot be read: passed over"

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
from evals.judging.batch.intake import RUN_AGAIN, Failure, Intake, Taken
from evals.judging.batch.sending import Sender
from evals.judging.batch.spool import SpooledBatch
from evals.judging.batch.status import RoundStatus
from evals.judging.batch.wire import ENDED, NO_COUNTS, RequestCounts, sum_of
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

    def answered(self, request_hash: str, message: ApiMessage) -> None:
        """Hear of an answer; it is in the store, or about to be."""
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
    is_new: bool
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
        """Take up the batches that an earlier run, or another one, has open at this server.

        Raises:
            StoreError: the store cannot be read or written.
        """
        for batch in self._store.open_batches(self._api.server):
            hashes = self._store.hashes_in_batch(batch.submission)
            try:
                named = (batch,) if batch.batch_id else await self._sender.recover(batch)
            except AttemptError as failure:
                # Asked again it could be paid for twice.
                unknown = _not_sent(failure, self._api.server)
                for request_hash in hashes:
                    self._follower.failed(request_hash, unknown)
            else:
                self._open += [self._waiting(each, hashes) for each in named]

    async def send(self, batch: SpooledBatch) -> None:
        """Send a batch; where it is not accepted its requests have failed, or are put off.

        Raises:
            StoreError: it cannot be written down.
        """
        try:
            for each in await self._sender.send(batch):
                self._open.append(self._waiting(each, batch.hashes, is_new=True))
        except AttemptError as failure:
            refused = _not_sent(failure, self._api.server)
            if failure.kind == "slow_down" and self._open:
                # As many as the server takes at once are under way: the others go after them.
                refused = replace(refused, follow="again")
            for request_hash in batch.hashes:
                self._follower.failed(request_hash, refused)

    async def wait(self, needed: Callable[[frozenset[str]], bool]) -> None:
        """Wait until nothing more is to be heard of the batches that are needed.

        Args:
            needed: tells it of a batch by the request hashes in it.

        Raises:
            WrongModelError: another model answered than the pinned one.
            StoreError: the store cannot be read or written.
        """
        self.number += 1
        self._waited_for = [each for each in self._open if needed(each.hashes)]
        delays = self._delays_s()
        while self._waited_for:
            await self._sleep(next(delays))
            for each in list(self._waited_for):
                await self._look(each)

    async def aclose(self) -> None:
        """Close connections."""
        await self._api.aclose()

    def _waiting(
        self, batch: OpenBatch, hashes: Iterable[str], *, is_new: bool = False
    ) -> _Waiting:
        tries = Tries(self._poll_policy, self._clock, self._chance)
        return _Waiting(batch, frozenset(hashes), tries, NO_COUNTS, is_new)

    def _delays_s(self) -> Iterator[float]:
        if not all(each.is_new for each in self._waited_for):
            yield 0.0  # what an earlier run sent may have ended long ago
        delay_s = self._poll_s
        while True:
            yield delay_s * (0.9 + 0.2 * self._chance())
            delay_s = max(self._poll_s, min(delay_s * _GROWTH, _LONGEST_POLL_S))

    async def _look(self, waiting: _Waiting) -> None:
        try:
            state = await self._api.state(waiting.name)
            waiting.counts = state.request_counts
            if state.processing_status == ENDED:
                await self._take_in(waiting)
            else:
                waiting.tries = Tries(self._poll_policy, self._clock, self._chance)
        except AttemptError as failure:
            waiting.tries.meet(failure)
            if failure.status == _NOT_FOUND:
                if not waiting.tries.are_over:
                    return  # said once it may be a mistake, and to ask anew is to pay again
                self._note(
                    f"batch {waiting.name}: {failure.what}, {waiting.tries.failures} times; what"
                    " was asked in it is asked anew, and paid for again if it was answered there"
                )
                lost = Failure("again", "a batch that the server does not know any more", RUN_AGAIN)
                self._end(waiting, dict.fromkeys(waiting.hashes, lost))
            elif waiting.tries.are_over or failure.kind not in {"retry", "slow_down"}:
                self._give_up(waiting, failure)

    async def _take_in(self, waiting: _Waiting) -> None:
        check_model = partial(self._follower.check_model, waiting.batch.model_asked)
        intake = Intake(
            self._store, waiting.batch, waiting.hashes, check_model, hide=self._api.hide
        )
        try:
            async with aclosing(self._api.results(waiting.name)) as lines:
                async for line in lines:
                    taken = intake.take(line)
                    if taken is not None:
                        self._follower.answered(*taken)
        finally:
            result = intake.finish()
        if result.unreadable:
            # Perhaps they were damaged on the way.
            what = f"{result.unreadable} result lines that cannot be read"
            broken = AttemptError(what, "retry")
            waiting.tries.meet(broken)
            if not waiting.tries.are_over:
                return
        for note in _notes_of(result):
            self._note(f"batch {waiting.name}: {note}")
        self._end(waiting, result.failed)

    def _end(self, waiting: _Waiting, failed: Mapping[str, Failure]) -> None:
        self._store.end_batch(waiting.batch.submission, datetime.now(UTC))
        self._forget(waiting)
        for request_hash, failure in failed.items():
            self._follower.failed(request_hash, failure)

    def _give_up(self, waiting: _Waiting, failure: AttemptError) -> None:
        self._forget(waiting)
        what = f"{failure.what} from {self._api.server}, asked about batch {waiting.name}"
        lost = Failure(
            "give_up",
            what,
            "Run again: the batch goes on at the server, and what is answered is kept.",
        )
        for request_hash in waiting.hashes:
            self._follower.failed(request_hash, lost)

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


def _not_sent(failure: AttemptError, server: str) -> Failure:
    what = f"{failure.what} from {server}, which was sent a batch"
    if failure.kind == "stop_run":
        todo = (
            "Check ANTHROPIC_API_KEY, --judge-model, ANTHROPIC_BASE_URL and the account's limits."
        )
    elif failure.kind == "give_up":
        todo = "The server refuses the batch as it stands: check model, prompt and limits."
    else:
        todo = "Run again: whether it was accepted all the same is looked up first."
    return Failure("give_up", what, todo)

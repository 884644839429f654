"""The judge of a batch run: what has no answer yet is noted, and sent a round at a time."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import NoReturn

from evals.errors import ExhaustedError
from evals.judging.batch.api import BatchesApi
from evals.judging.batch.intake import Failure
from evals.judging.batch.rounds import Rounds
from evals.judging.batch.spool import Spool, SpooledBatch
from evals.judging.batch.walk import Walk
from evals.judging.budget import Admission, Budget
from evals.judging.case import Case, Row, RunContext
from evals.judging.engine import EngineCounts, JudgeEngine
from evals.judging.message import ApiMessage, response_of
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse
from evals.judging.retry import RetryPolicy
from evals.judging.store import AnswerStore


class BatchEngine(JudgeEngine):
    """Judges case by case, as far as the answers reach, and buys answers a round at a time.

    A case that lacks an answer is walked again after the next round, until it lacks none: as often
    as its requests follow from each other. Nothing of a case is kept in between but what it asked.
    """

    def __init__(
        self,
        store: AnswerStore,
        recordings: Recordings,
        api: BatchesApi,
        policy: RetryPolicy,
        *,
        poll_s: float,
        budget: Budget | None = None,
        spool: Spool | None = None,
    ) -> None:
        """Put the layers together; nothing is sent.

        Args:
            store: read first, and written with every answer; closed by ``aclose``.
            recordings: read where the store has nothing.
            api: where both have nothing; closed by ``aclose``.
            policy: of single exchanges; a request is asked in at most ``max_attempts`` batches.
            poll_s: first wait between two looks at a batch, in seconds.
            budget: what may be bought; None: any amount, at no known price.
            spool: where a round gathers; None: beside the store.
        """
        super().__init__(store, recordings, None, budget)
        self._api = api
        self._most_batches = policy.max_attempts
        self._rounds = Rounds(api, store, policy, poll_s, self)
        self._spool = Spool(store.path.parent) if spool is None else spool
        self._loading = asyncio.Lock()
        self._is_loaded = False
        self._awaited: set[str] = set()
        """What the cases walked since the last round lack."""
        self._admissions: dict[str, Admission] = {}
        self._in_vain: Counter[str] = Counter()
        """How often a request came back without an answer."""
        self._given_up: dict[str, Failure] = {}
        self._sent = self._resent = 0

    @property
    def counts(self) -> EngineCounts:
        """A snapshot of the counters; a retry is a request that is asked in a further batch."""
        status = self._rounds.status
        return replace(
            super().counts,
            calls=self._sent - self._resent,
            attempts=self._api.exchanges,
            retries=self._resent,
            in_flight=0 if status is None else status.requests,
            round=status,
        )

    async def walk(self, case: Case, context: RunContext) -> Row | None:
        """Return the row of a case, or None where it lacks an answer: see ``Walk``."""
        async with self._loading:
            if not self._is_loaded:
                with self._stopping():
                    await self._rounds.load()
                self._is_loaded = True
        return await Walk(self._find).evaluate(case, context)

    async def settle_round(self) -> None:
        """Send what the walked cases asked, and wait for all that they lack.

        Raises:
            EvalError: what stops the run; nothing was sent where it was stopped before.
        """
        self._check_not_stopped()
        awaited, self._awaited = self._awaited, set()
        if not awaited:
            self._free_budget()
        with self._stopping():
            batches = self._spool.sealed()
            try:
                for batch in batches:
                    self._count_sending(batch)
                    await self._rounds.send(batch)
            finally:
                for batch in batches:
                    batch.close()
            await self._rounds.wait(lambda hashes: not hashes.isdisjoint(awaited))

    async def aclose(self) -> None:
        """Close connections, store and spool; batches go on at the server. May be called twice."""
        self._spool.close()
        await self._rounds.aclose()
        await super().aclose()

    def check_model(self, model_asked: str, request_hash: str, message: ApiMessage) -> None:
        """Refuse an answer of another model: see ``Follower``."""
        with self._stopping():
            self._pin.check(f"answer {request_hash[:12]} of a batch", model_asked, message.model)

    def answered(self, request_hash: str, message: ApiMessage) -> None:
        """Count an answer, once, however often it is downloaded: see ``Follower``."""
        admission = self._admissions.pop(request_hash, None)
        is_new = request_hash not in self._origins
        self._note_origin(request_hash, "batch", self._times_asked(request_hash))
        if admission is not None:
            admission.settle(message)
            admission.close()
        elif is_new:  # an earlier run sent it
            self._budget.buy(message)

    def failed(self, request_hash: str, failure: Failure) -> None:
        """Ask again or give up: see ``Follower``."""
        times = self._times_asked(request_hash)
        self._in_vain[request_hash] = times
        if failure.follow == "again" and times < self._most_batches:
            return
        if times > 1:
            failure = replace(failure, what=f"{failure.what}, at the last of {times} times")
        self._given_up[request_hash] = failure
        self._leave_budget(request_hash)

    def _find(self, request: JudgeRequest) -> JudgeResponse | None:
        answer = self._found(request)
        request_hash = request.request_hash
        if answer is not None:
            if not self._is_under_way(request_hash):  # it came by another way than was waited for
                self._leave_budget(request_hash)
            return response_of(answer.message, request, answer.source, answer.attempts)
        if request_hash in self._given_up:
            raise self._unanswered(request, self._given_up[request_hash])
        if not self._is_under_way(request_hash):
            if request_hash not in self._admissions:
                admission = self._budget.enter(request)
                if admission is None:
                    return None
                self._admissions[request_hash] = admission
            with self._stopping():
                self._spool.add(request)
        self._awaited.add(request_hash)
        return None

    async def _fly(self, request: JudgeRequest) -> NoReturn:
        raise AssertionError(f"{request.purpose}: a batch run asks by walking a case")

    def _count_sending(self, batch: SpooledBatch) -> None:
        for request_hash in batch.hashes:
            self._sent += 1
            self._resent += request_hash in self._in_vain
            self._admissions[request_hash].sent()

    def _times_asked(self, request_hash: str) -> int:
        return 1 + self._in_vain[request_hash]

    def _is_under_way(self, request_hash: str) -> bool:
        return request_hash in self._spool or self._rounds.holds(request_hash)

    def _leave_budget(self, request_hash: str) -> None:
        admission = self._admissions.pop(request_hash, None)
        if admission is not None:
            admission.close()

    def _free_budget(self) -> None:
        """Give back what is set aside: nothing is under way, and still something waits for room."""
        for request_hash in list(self._admissions):
            self._leave_budget(request_hash)

    def _unanswered(self, request: JudgeRequest, failure: Failure) -> ExhaustedError:
        return ExhaustedError(
            f"request {request.request_hash[:12]} of {request.purpose}",
            failure.what,
            "an answer",
            failure.todo,
        )

"""The judge of a batch run: what has no answer yet is noted, and sent a round at a time."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn

from evals.errors import BudgetError, ExhaustedError
from evals.judging.batch.api import BatchesApi
from evals.judging.batch.failures import Failure
from evals.judging.batch.intake import Bought
from evals.judging.batch.rounds import Rounds
from evals.judging.batch.spool import Spool, SpooledBatch
from evals.judging.batch.walk import Walk
from evals.judging.booking import Booking
from evals.judging.budget import Admission, Budget
from evals.judging.case import Case, Row, RunContext
from evals.judging.engine import EngineCounts, JudgeEngine
from evals.judging.message import ApiMessage, response_of
from evals.judging.needs import needs_of
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse
from evals.judging.retry import RetryPolicy
from evals.judging.store import AnswerStore
from evals.judging.turns import Turn


class BatchEngine(JudgeEngine):
    """Judges case by case, as far as the answers reach, and buys answers a round at a time.

    A case that lacks an answer is walked again after the next round, until it lacks none: as often
    as its requests follow from each other. Nothing of a case is kept in between but what it asked
    and, where the run has a limit, what is booked for it. With a limit whole cases are let in (see
    ``Budget``): a case that there is no room for asks nothing before others have ended.

    Of the batch runs on one store, one at a time walks and sends: the next one finds all that is
    under way written down, and waits for it too.
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
        self._turn = Turn.to_send_batches(self._claims)
        self._beginning = asyncio.Lock()
        self._has_begun = False
        """Whether this round has its turn, and knows what is under way."""
        self._awaited: set[str] = set()
        """What the cases walked since the last round lack."""
        self._admissions: dict[str, Admission] = {}
        self._bookings: dict[int, Booking] = {}
        """Of the cases that have begun and are not judged yet, each by its identity."""
        self._in_vain: Counter[str] = Counter()
        """How often a request came back without an answer."""
        self._given_up: dict[str, Failure] = {}
        self._calls = self._resent = 0

    @property
    def counts(self) -> EngineCounts:
        """A snapshot of the counters; a retry is a request that came back and is asked again."""
        status = self._rounds.status
        return replace(
            super().counts,
            calls=self._calls,
            attempts=self._api.exchanges,
            retries=self._resent,
            in_flight=0 if status is None else status.requests,
            round=status,
        )

    async def walk(self, case: Case, context: RunContext) -> Row | None:
        """Return the row of a case, or None where it lacks an answer: see ``Walk``."""
        await self._begin_round()
        try:
            while True:
                lacking: list[JudgeRequest] = []
                row = await Walk(partial(self._find, lacking)).evaluate(case, context)
                if row is not None:
                    self._end_case(case)
                    return row
                if self._add_all(case, lacking, context.settings):
                    return None
                # The budget ran out: what there is no room for is refused in a further walk.
        except BaseException:
            self._end_case(case)
            raise

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
                    resent = self._count_sending(batch)
                    if await self._rounds.send(batch):
                        self._resent += resent
            finally:
                for batch in batches:
                    batch.close()
            self._end_turn()
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

    def answered(self, request_hash: str, message: ApiMessage, bought: Bought) -> None:
        """Count an answer: see ``Follower``."""
        admission = self._admissions.pop(request_hash, None)
        self._note_origin(request_hash, "batch", self._times_asked(request_hash))
        if bought != "known":
            own = admission if bought == "own" else None
            self._budget.buy(message, own, is_own=bought == "own")
        if admission is not None:
            admission.close()

    def failed(self, request_hash: str, failure: Failure) -> None:
        """Ask again or give up: see ``Follower``."""
        if failure.follow == "later":
            return
        if failure.may_be_billed and request_hash in self._admissions:
            self._admissions.pop(request_hash).give_up()  # asked again it is a call of its own
        times = self._times_asked(request_hash)
        self._in_vain[request_hash] = times
        if failure.follow == "again" and times < self._most_batches:
            return
        if times > 1:
            failure = replace(failure, what=f"{failure.what}, at the last of {times} times")
        self._given_up[request_hash] = failure
        self._leave_budget(request_hash)

    def _find(self, lacking: list[JudgeRequest], request: JudgeRequest) -> JudgeResponse | None:
        answer = self._found(request)
        request_hash = request.request_hash
        if answer is not None:
            if not self._is_under_way(request_hash):  # it came by another way than was waited for
                self._leave_budget(request_hash)
            return response_of(answer.message, request, answer.source, answer.attempts)
        if request_hash in self._given_up:
            raise self._unanswered(request, self._given_up[request_hash])
        if not self._is_under_way(request_hash) and request_hash not in self._admissions:
            self._budget.check(request)
        lacking.append(request)
        return None

    def _add_all(
        self, case: Case, lacking: Sequence[JudgeRequest], settings: JudgeSettings
    ) -> bool:
        """Put what a case lacks into the round, as far as the budget has room for it now.

        Returns:
            False where the budget has run out, just now.
        """
        bookings = self._bookings_of(case, lacking, settings)
        for request in lacking:
            request_hash = request.request_hash
            if not self._is_under_way(request_hash):
                if request_hash not in self._admissions:
                    if bookings is None:
                        continue
                    try:
                        admission = self._budget.enter(request, bookings)
                    except BudgetError:
                        return False
                    if admission is None:
                        continue
                    self._admissions[request_hash] = admission
                with self._stopping():
                    self._spool.add(request)
            self._awaited.add(request_hash)
        return True

    def _bookings_of(
        self, case: Case, lacking: Sequence[JudgeRequest], settings: JudgeSettings
    ) -> Sequence[Booking] | None:
        """Return what is booked for a case; None where it has to wait for a later round."""
        if not self._budget.is_limited:
            return ()
        if id(case) not in self._bookings:
            if not self._budget.takes_cases():
                return None
            booking = self._budget.begin(needs_of(case, lacking, settings))
            if booking is None:
                return None
            self._bookings[id(case)] = booking
        return (self._bookings[id(case)],)

    def _end_case(self, case: Case) -> None:
        booking = self._bookings.pop(id(case), None)
        if booking is not None:
            self._budget.end(booking)

    async def _fly(self, request: JudgeRequest, booking: Booking | None) -> NoReturn:  # noqa: ARG002
        raise AssertionError(f"{request.purpose}: a batch run asks by walking a case")

    async def _begin_round(self) -> None:
        async with self._beginning:
            if not self._has_begun:
                await self._turn.wait(self._check_not_stopped)
                with self._stopping():
                    await self._rounds.load()
                self._has_begun = True

    def _end_turn(self) -> None:
        self._turn.end()
        self._has_begun = False

    def _count_sending(self, batch: SpooledBatch) -> int:
        """Count the calls that are sent for the first time, and return how many go out again."""
        resent = 0
        for request_hash in batch.hashes:
            admission = self._admissions[request_hash]
            self._calls += not admission.is_sent
            resent += admission.is_sent and request_hash in self._in_vain
            admission.sent()
        return resent

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

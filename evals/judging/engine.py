"""The judge behind every instrument: guard, store, recordings, live call, in this order."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from evals.errors import (
    EvalError,
    IsolationError,
    NotRecordedError,
    StoreError,
)
from evals.judging.batch.status import RoundStatus
from evals.judging.batch.walk import Walk
from evals.judging.booking import Booking
from evals.judging.budget import Budget
from evals.judging.calls import LiveCalls
from evals.judging.case import Case, Row, RunContext
from evals.judging.ledger import Spending
from evals.judging.limiter import Pace
from evals.judging.message import (
    ApiMessage,
    ModelPin,
    NotAMessageError,
    parse_message,
    response_of,
)
from evals.judging.missing import Missing
from evals.judging.needs import needs_of
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse
from evals.judging.store import AnswerStore, Claims, StoredAnswer
from evals.judging.turns import Turn
from evals.records import AnswerSource


@dataclass(frozen=True)
class EngineCounts:
    """What a run has cost so far."""

    calls: int
    """Requests that went live, each once; once more for each answer that was lost in a batch."""
    attempts: int
    """HTTP attempts made for them."""
    retries: int
    """Attempts on top of each call's first."""
    in_flight: int
    """HTTP attempts running now."""
    answers: dict[AnswerSource, int]
    """Distinct requests answered, by where this run first got the answer from."""
    spending: Spending
    """Tokens and cost of the live answers."""
    round: RoundStatus | None = None
    """How far a batch run is; None elsewhere, and before its first round."""
    pace: Pace | None = None
    """What the server lets a live run do now; None elsewhere."""


@dataclass(frozen=True)
class _Answer:
    message: ApiMessage
    source: AnswerSource
    attempts: int


class _AnsweredMeanwhileError(Exception):
    """Another run on the same store had the answer before this one's turn to send came."""

    def __init__(self, answer: _Answer) -> None:
        super().__init__()
        self.answer = answer


class _AskedElsewhereError(Exception):
    """Another run on the same store is asking it: not to be sent before that has come to an end."""


@dataclass
class _Flight:
    task: asyncio.Task[_Answer]
    bookings: list[Booking]
    """Of the cases that ask it."""
    waiters: int = 0


class JudgeEngine:
    """Implements ``Judge``. Used on one event loop; ``store`` may be used from any thread."""

    def __init__(
        self,
        store: AnswerStore,
        recordings: Recordings,
        live: LiveCalls | None,
        budget: Budget | None = None,
        missing: Missing | None = None,
    ) -> None:
        """Put the layers together.

        Args:
            store: read first, and written with every live answer; closed by ``aclose``.
            recordings: read where the store has nothing.
            live: asked where both have nothing; None: recorded mode.
            budget: what may be bought; None: any amount, at no known price.
            missing: told what recorded mode has no answer to; closed by ``aclose``.
        """
        self.store = store
        self.missing = Missing() if missing is None else missing
        """What recorded mode has no answer to."""
        self.has_company = False
        """Whether another run on the same store was seen to ask what this one was about to ask."""
        self._claims = Claims(store.path)
        self._recordings = recordings
        self._live = live
        self._budget = Budget() if budget is None else budget
        self._pin = ModelPin()
        self._stopped_by: EvalError | None = None
        self._flights: dict[str, _Flight] = {}
        self._tasks: set[asyncio.Task[_Answer]] = set()
        self._origins: dict[str, tuple[AnswerSource, int]] = {}
        self._by_source: Counter[AnswerSource] = Counter()

    @property
    def counts(self) -> EngineCounts:
        """A snapshot of the counters."""
        live = self._live
        return EngineCounts(
            calls=0 if live is None else live.calls,
            attempts=0 if live is None else live.attempts,
            retries=0 if live is None else live.retries,
            in_flight=0 if live is None else live.in_flight,
            answers=dict(self._by_source),
            spending=self._budget.spending,
            pace=None if live is None else live.pace,
        )

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Return the answer to ``request``; see ``Judge.ask``.

        A live answer is committed to the store before anybody reads what it says. Concurrent equal
        requests share one call, which goes on until its last waiter is cancelled.

        Raises:
            JudgeError: there is no usable answer; its ``reason`` says why.
            IsolationError: the guard found a leak, now or earlier in the run.
            WrongModelError: another model answered than the pinned one, now or earlier.
            StoreError: store or recordings cannot be read or written, now or earlier.
        """
        return await self._ask(request, None)

    def stop(self, error: EvalError) -> None:
        """Ask nothing more: every ask from now on raises ``error``, and no attempt is begun.

        What stopped the run first stays the reason: a leak must not pass for something else.
        """
        self._stopped_by = self._stopped_by or error

    async def aclose(self) -> None:
        """Cancel what is in flight, close connections and store; may be called twice."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._live is not None:
            await self._live.aclose()
        self.missing.close()
        self.store.close()
        self._claims.close()  # last: by now all that was answered can be read by others

    async def walk(self, case: Case, context: RunContext) -> Row | None:
        """Evaluate a case; None where it has to wait for ``settle_round``, as here none has to.

        Raises:
            EvalError: see ``Case.evaluate``.
        """
        if self._live is None or not self._budget.is_limited:
            return await case.evaluate(self, context)
        lacking: list[JudgeRequest] = []
        row = await Walk(partial(self._look, lacking)).evaluate(case, context)
        if row is not None:
            return row
        async with self._budget.case(needs_of(case, lacking, context.settings)) as booking:
            return await case.evaluate(_JudgeOfCase(self, booking), context)

    async def settle_round(self) -> None:
        """Get the answers that the cases walked so far wait for.

        Raises:
            EvalError: what stops the run.
        """

    async def _ask(self, request: JudgeRequest, booking: Booking | None) -> JudgeResponse:
        answer = self._found(request)
        if answer is None:
            answer = await self._fly(request, booking)
        return response_of(answer.message, request, answer.source, answer.attempts)

    def _look(self, lacking: list[JudgeRequest], request: JudgeRequest) -> JudgeResponse | None:
        answer = self._found(request)
        if answer is None:
            lacking.append(request)
            return None
        return response_of(answer.message, request, answer.source, answer.attempts)

    def _found(self, request: JudgeRequest) -> _Answer | None:
        self._check_not_stopped()
        if request.guard is not None:
            try:
                request.guard.check(request.params)
            except IsolationError as error:
                self._stopped_by = error
                raise
        with self._stopping():
            return self._kept(request)

    def _kept(self, request: JudgeRequest) -> _Answer | None:
        request_hash = request.request_hash
        stored = self.store.get(request_hash)
        if stored is not None:
            return self._read(request, stored.message, "store", str(self.store.path))
        recorded = self._recordings.message_of(request_hash)
        if recorded is not None:
            return self._read(request, recorded, "recording", str(self._recordings.folder))
        return None

    def _read(self, request: JudgeRequest, text: str, source: AnswerSource, where: str) -> _Answer:
        try:
            message = parse_message(text)
        except NotAMessageError as error:
            raise StoreError(
                f"{where}, answer {request.request_hash}",
                str(error),
                "a Message of the API",
                "Delete the file, or import the answer again.",
            ) from None
        self._check_model(request, message)
        if request.request_hash not in self._origins:
            self._budget.learn(request, message)
        return _Answer(message, *self._note_origin(request.request_hash, source, 0))

    def _note_origin(
        self, request_hash: str, source: AnswerSource, attempts: int
    ) -> tuple[AnswerSource, int]:
        # An answer that this run paid for stays a live one when it is asked for again.
        if request_hash not in self._origins:
            self._origins[request_hash] = (source, attempts)
            self._by_source[source] += 1
        return self._origins[request_hash]

    async def _fly(self, request: JudgeRequest, booking: Booking | None) -> _Answer:
        if self._live is None:
            raise self._not_recorded(request)
        flight = self._flights.get(request.request_hash)
        if flight is None:
            flight = self._take_off(request, self._live)
        if booking is not None:
            flight.bookings.append(booking)
            self._budget.stir()
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if flight.waiters == 0 and not flight.task.done():
                flight.task.cancel()
                # At once, so that no later ask joins a call that is being cancelled.
                self._land(request.request_hash, flight)

    def _take_off(self, request: JudgeRequest, live: LiveCalls) -> _Flight:
        bookings: list[Booking] = []
        flight = _Flight(asyncio.create_task(self._call(request, live, bookings)), bookings)
        self._flights[request.request_hash] = flight
        self._tasks.add(flight.task)

        def landed(task: asyncio.Task[_Answer]) -> None:
            self._tasks.discard(task)
            self._land(request.request_hash, flight)
            if not task.cancelled():
                # Looked at, or asyncio would complain where the last waiter has gone.
                task.exception()

        flight.task.add_done_callback(landed)
        return flight

    def _land(self, request_hash: str, flight: _Flight) -> None:
        if self._flights.get(request_hash) is flight:
            del self._flights[request_hash]

    async def _call(
        self, request: JudgeRequest, live: LiveCalls, bookings: list[Booking]
    ) -> _Answer:
        turn = Turn.to_ask(self._claims, request.request_hash)
        try:
            while True:
                try:
                    return await self._buy(request, live, turn, bookings)
                except _AnsweredMeanwhileError as found:
                    return found.answer
                except _AskedElsewhereError:
                    self.has_company = True
                # Out here, so that what waits holds no place that another call could use.
                await turn.wait(self._check_not_stopped)
                with self._stopping():
                    kept = self._kept(request)
                if kept is not None:
                    return kept
        finally:
            turn.end()

    async def _buy(
        self, request: JudgeRequest, live: LiveCalls, turn: Turn, bookings: list[Booking]
    ) -> _Answer:
        def may_send() -> None:
            self._check_not_stopped()
            if not turn.begin():
                raise _AskedElsewhereError
            # Not before the turn has begun: another run's turn ends with an answer in the store.
            with self._stopping():
                meanwhile = self._kept(request)
            if meanwhile is not None:
                raise _AnsweredMeanwhileError(meanwhile)
            admission.sent()

        async with self._budget.admit(request, bookings) as admission:
            sent = await live.call(request, may_send, admission.give_up)
            admission.settle(sent.message)
        self._check_model(request, sent.message)
        answer = StoredAnswer(
            request_hash=request.request_hash,
            message=sent.text,
            model_asked=request.settings.model,
            model_served=sent.message.model,
            received_at=datetime.now(UTC),
        )
        # An answer that cannot be kept is paid for and lost: before the next one is sent, stop.
        with self._stopping():
            kept = self.store.put(answer)
        self.has_company = self.has_company or kept != answer
        self._note_origin(request.request_hash, "live", sent.attempts)
        if kept.message != sent.text:
            # Another process stored an answer meanwhile: the first stands, for both.
            return self._read(request, kept.message, "store", str(self.store.path))
        return _Answer(sent.message, "live", sent.attempts)

    def _check_model(self, request: JudgeRequest, message: ApiMessage) -> None:
        where = f"answer {request.request_hash[:12]} to {request.purpose}"
        with self._stopping():
            self._pin.check(where, request.settings.model, message.model)

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        try:
            yield
        except EvalError as error:
            if error.stops_run:
                self.stop(error)
            raise

    def _check_not_stopped(self) -> None:
        if self._stopped_by is not None:
            # A fresh one each time: an error that is raised twice gathers both tracebacks.
            raise type(self._stopped_by)(*self._stopped_by.args)

    def _not_recorded(self, request: JudgeRequest) -> NotRecordedError:
        self.missing.note(request)
        return NotRecordedError(
            f"request {request.request_hash} of {request.purpose}",
            f"no answer in {self.store.path} nor among the {len(self._recordings)} recordings"
            f" of {self._recordings.folder}",
            "a recorded answer",
            "Set ANTHROPIC_API_KEY and use --judge live, which records it; or use"
            " --export-requests, answer elsewhere, and run python -m evals.judging import.",
        )


class _JudgeOfCase:
    """The engine, for the requests of one case that has its place in the budget."""

    def __init__(self, engine: JudgeEngine, booking: Booking) -> None:
        self._engine = engine
        self._booking = booking

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Return the answer to ``request``; see ``JudgeEngine.ask``."""
        return await self._engine._ask(request, self._booking)  # noqa: SLF001  one thing with it

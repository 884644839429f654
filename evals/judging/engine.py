"""The judge behind every instrument: guard, store, recordings, live call, in this order."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from evals.config import RunConfig
from evals.errors import (
    ConfigError,
    EvalError,
    IsolationError,
    NotRecordedError,
    StoreError,
    WrongModelError,
)
from evals.judging.calls import LiveCalls
from evals.judging.live import LiveTransport
from evals.judging.message import (
    ApiMessage,
    ModelPin,
    NotAMessageError,
    parse_message,
    response_of,
)
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse
from evals.judging.retry import RetryPolicy
from evals.judging.store import AnswerStore, StoredAnswer
from evals.records import AnswerSource


@dataclass(frozen=True)
class EngineCounts:
    """What a run has cost so far."""

    calls: int
    """Distinct requests that went live."""
    attempts: int
    """HTTP attempts made for them."""
    retries: int
    """Attempts on top of each call's first."""
    in_flight: int
    """HTTP attempts running now."""
    answers: dict[AnswerSource, int]
    """Distinct requests answered, by where this run first got the answer from."""


@dataclass(frozen=True)
class _Answer:
    message: ApiMessage
    source: AnswerSource
    attempts: int


@dataclass
class _Flight:
    task: asyncio.Task[_Answer]
    waiters: int = 0


class JudgeEngine:
    """Implements ``Judge``. Used on one event loop; ``store`` may be used from any thread."""

    def __init__(self, store: AnswerStore, recordings: Recordings, live: LiveCalls | None) -> None:
        """Put the layers together.

        Args:
            store: read first, and written with every live answer; closed by ``aclose``.
            recordings: read where the store has nothing.
            live: asked where both have nothing; None: recorded mode.
        """
        self.store = store
        self.missing: dict[str, JudgeRequest] = {}
        """Requests that recorded mode has no answer to, by hash, in the order asked."""
        self._recordings = recordings
        self._live = live
        self._pin = ModelPin()
        self._stopped_by: EvalError | None = None
        self._flights: dict[str, _Flight] = {}
        self._tasks: set[asyncio.Task[_Answer]] = set()
        self._origins: dict[str, tuple[AnswerSource, int]] = {}

    @property
    def counts(self) -> EngineCounts:
        """A snapshot of the counters."""
        live = self._live
        by_source = Counter(source for source, _ in self._origins.values())
        return EngineCounts(
            calls=0 if live is None else live.calls,
            attempts=0 if live is None else live.attempts,
            retries=0 if live is None else live.retries,
            in_flight=0 if live is None else live.in_flight,
            answers=dict(by_source),
        )

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Return the answer to ``request``; see ``Judge.ask``.

        A live answer is committed to the store before anybody reads what it says. Concurrent equal
        requests share one call, which goes on until its last waiter is cancelled.

        Raises:
            JudgeError: there is no usable answer; its ``reason`` says why.
            IsolationError: the guard found a leak, now or earlier in the run.
            WrongModelError: another model answered than the pinned one, now or earlier.
            StoreError: store or recordings cannot be read or written.
        """
        self._check_not_stopped()
        if request.guard is not None:
            try:
                request.guard.check(request.params)
            except IsolationError as error:
                self._stopped_by = error
                raise
        answer = self._kept(request)
        if answer is None:
            answer = await self._fly(request)
        return response_of(answer.message, request, answer.source, answer.attempts)

    async def aclose(self) -> None:
        """Cancel what is in flight, close connections and store; may be called twice."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._live is not None:
            await self._live.aclose()
        self.store.close()

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
        # An answer that this run paid for stays a live one when it is asked for again.
        origin = self._origins.setdefault(request.request_hash, (source, 0))
        return _Answer(message, *origin)

    async def _fly(self, request: JudgeRequest) -> _Answer:
        if self._live is None:
            raise self._not_recorded(request)
        flight = self._flights.get(request.request_hash)
        if flight is None:
            flight = self._take_off(request, self._live)
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
        flight = _Flight(asyncio.create_task(self._call(request, live)))
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

    async def _call(self, request: JudgeRequest, live: LiveCalls) -> _Answer:
        sent = await live.call(request, self._check_not_stopped)
        self._check_model(request, sent.message)
        kept = self.store.put(
            StoredAnswer(
                request_hash=request.request_hash,
                message=sent.text,
                model_asked=request.settings.model,
                model_served=sent.message.model,
                received_at=datetime.now(UTC),
            )
        )
        self._origins[request.request_hash] = ("live", sent.attempts)
        if kept.message != sent.text:
            # Another process stored an answer meanwhile: the first stands, for both.
            return self._read(request, kept.message, "store", str(self.store.path))
        return _Answer(sent.message, "live", sent.attempts)

    def _check_model(self, request: JudgeRequest, message: ApiMessage) -> None:
        where = f"answer {request.request_hash[:12]} to {request.purpose}"
        try:
            self._pin.check(where, request.settings.model, message.model)
        except WrongModelError as error:
            # What stopped the run first stays the reason: a leak is not to pass for a wrong model.
            self._stopped_by = self._stopped_by or error
            raise

    def _check_not_stopped(self) -> None:
        if self._stopped_by is not None:
            # A fresh one each time: an error that is raised twice gathers both tracebacks.
            raise type(self._stopped_by)(*self._stopped_by.args)

    def _not_recorded(self, request: JudgeRequest) -> NotRecordedError:
        self.missing.setdefault(request.request_hash, request)
        return NotRecordedError(
            f"request {request.request_hash} of {request.purpose}",
            f"no answer in {self.store.path} nor among the {len(self._recordings)} recordings"
            f" of {self._recordings.folder}",
            "a recorded answer",
            "Set ANTHROPIC_API_KEY and use --judge live, which records it; or use"
            " --export-requests, answer elsewhere, and run python -m evals.judging import.",
        )


def open_engine(config: RunConfig) -> JudgeEngine:
    """Open the judge of a run; in live mode this imports the SDK (about a second).

    Raises:
        StoreError: the store or a recording cannot be opened.
        ConfigError: live mode without a key.
    """
    live: LiveCalls | None = None
    if config.judge_mode == "live":
        if config.api_key is None:
            raise ConfigError(
                "--judge live",
                "no ANTHROPIC_API_KEY in the environment",
                "a key",
                "Set ANTHROPIC_API_KEY, or use --judge recorded.",
            )
        transport = LiveTransport(
            api_key=config.api_key, base_url=config.base_url, max_in_flight=config.max_in_flight
        )
        policy = RetryPolicy(
            max_attempts=config.max_attempts, attempt_timeout_s=config.call_timeout_s
        )
        live = LiveCalls(transport, policy, config.max_in_flight)
    store = AnswerStore(config.store_path)
    try:
        return JudgeEngine(store, Recordings(config.recordings_dir), live)
    except BaseException:
        store.close()
        raise

"""Live calls: attempts under a deadline, retried, and slowed down together."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from evals.errors import CallTimeoutError, ExhaustedError, JudgeError
from evals.judging.limiter import Limiter
from evals.judging.message import ApiMessage, NotAMessageError, parse_message
from evals.judging.request import JudgeRequest
from evals.judging.retry import RetryPolicy
from evals.judging.transport import AttemptError, Reply, Transport


@dataclass(frozen=True)
class Sent:
    """What a live call came to."""

    text: str
    """The API's Message as JSON text, verbatim."""
    message: ApiMessage
    attempts: int
    """HTTP attempts it took, from 1."""


class LiveCalls:
    """Makes the calls of one run over one transport. Used on one event loop."""

    def __init__(
        self,
        transport: Transport,
        policy: RetryPolicy,
        max_in_flight: int,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            transport: one HTTP attempt; closed by ``aclose``.
            policy: how often, and after how long.
            max_in_flight: HTTP attempts at once, at least 1.
            sleep: waits a number of seconds.
            clock: seconds that only grow.
            chance: jitter, 0 to 1.
        """
        self._transport = transport
        self._policy = policy
        self._sleep = sleep
        self._chance = chance
        self._limiter = Limiter(max_in_flight, sleep=sleep, clock=clock)
        self._refused: AttemptError | None = None
        self.calls = 0
        """Calls of which at least one attempt was begun."""
        self.attempts = 0
        """HTTP attempts begun, of all calls."""

    @property
    def retries(self) -> int:
        """Attempts on top of each call's first."""
        return self.attempts - self.calls

    @property
    def in_flight(self) -> int:
        """HTTP attempts running now."""
        return self._limiter.in_flight

    @property
    def limit(self) -> int:
        """HTTP attempts allowed at once now: fewer than ``max_in_flight`` after an overload."""
        return self._limiter.limit

    async def call(self, request: JudgeRequest, may_send: Callable[[], None]) -> Sent:
        """Send ``request`` until it is answered.

        Args:
            request: what to send; its guard has been checked.
            may_send: called before every attempt, when its place is free and nothing but sending is
                left; what it raises ends the call.

        Raises:
            CallTimeoutError: no attempt was answered, and the last one hit the deadline.
            ExhaustedError: no attempt was answered, or the server refused for good. After a refusal
                that holds for the whole run (key, model, address) nothing more is sent at all.
        """
        attempts = 0
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._policy.max_attempts),
            retry=retry_if_exception(_is_transient),
            wait=self._wait_after,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            async for attempt in retrying:
                attempts += 1
                with attempt:
                    text, message = await self._attempt(request, attempts, may_send)
        except AttemptError as failure:
            error = self._given_up(request, failure, attempts)
        else:
            return Sent(text, message, attempts)
        # Raised out here so that it carries no context: an SDK error holds the request's headers.
        raise error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _attempt(
        self, request: JudgeRequest, number: int, may_send: Callable[[], None]
    ) -> tuple[str, ApiMessage]:
        async with self._limiter.slot() as generation:
            # Not before the wait: much can happen while a call stands in line.
            may_send()
            if self._refused is not None:
                raise AttemptError(self._refused.what, "stop_run")
            self.attempts += 1
            self.calls += number == 1
            try:
                reply = await self._send(request)
                message = parse_message(reply.text)
            except NotAMessageError as error:
                raise AttemptError(f"a 200 answer that is no Message ({error})", "retry") from None
            except AttemptError as failure:
                if failure.kind == "slow_down":
                    pause_s = self._policy.pause_s(failure.retry_after_s, self._chance())
                    self._limiter.slow_down(pause_s, generation)
                if failure.kind == "stop_run":
                    self._refused = failure
                raise
            self._limiter.succeeded(generation)
            return reply.text, message

    async def _send(self, request: JudgeRequest) -> Reply:
        deadline = asyncio.timeout(self._policy.attempt_timeout_s)
        try:
            async with deadline:
                return await self._transport.send(request.body)
        except TimeoutError:
            if not deadline.expired():
                raise
            what = f"no whole answer within {self._policy.attempt_timeout_s:g} s"
            raise AttemptError(what, "retry", timed_out=True) from None

    def _wait_after(self, state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome is not None else None
        assert isinstance(failure, AttemptError)
        return self._policy.wait_s(state.attempt_number, failure.retry_after_s, self._chance())

    def _given_up(self, request: JudgeRequest, failure: AttemptError, attempts: int) -> JudgeError:
        where = f"request {request.request_hash[:12]} of {request.purpose}"
        found = f"{failure.what} from {self._transport.server}"
        model = request.settings.model
        if failure.kind == "stop_run":
            return ExhaustedError(
                where,
                f"{found} for model {model!r}; nothing more is sent in this run",
                "a server that takes this key and knows this model",
                "Check ANTHROPIC_API_KEY, --judge-model and ANTHROPIC_BASE_URL.",
            )
        if failure.kind == "give_up":
            return ExhaustedError(
                where,
                f"{found} for model {model!r}",
                "an answer",
                "The server refuses this request as it stands: check model, prompt and limits.",
            )
        error = CallTimeoutError if failure.timed_out else ExhaustedError
        return error(
            where,
            f"{found}, at the last of {attempts} attempts",
            "an answer",
            "Run again: what is answered is kept. Or raise --max-attempts or --call-timeout-s.",
        )


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, AttemptError) and error.kind in {"retry", "slow_down"}

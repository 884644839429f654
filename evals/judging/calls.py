"""Live calls: attempts under a deadline, retried, and slowed down together."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tenacity import AsyncRetrying, retry_if_exception

from evals.errors import CallTimeoutError, ExhaustedError, JudgeError
from evals.judging.headers import quotas_left
from evals.judging.limiter import Limiter, Pace
from evals.judging.message import ApiMessage, NotAMessageError, parse_message
from evals.judging.outages import Outages
from evals.judging.request import JudgeRequest
from evals.judging.retry import RetryPolicy, Tries
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
        self._clock = clock
        self._limiter = Limiter(
            max_in_flight,
            pause_s=lambda refusals: policy.pause_s(refusals, chance()),
            longest_hold_s=policy.longest_retry_after_s,
            sleep=sleep,
            clock=clock,
        )
        self._outages = Outages(clock)
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
    def pace(self) -> Pace:
        """What the server lets the run do now; may be read from any thread."""
        return self._limiter.pace

    async def call(
        self,
        request: JudgeRequest,
        may_send: Callable[[], None],
        cut_off: Callable[[], None] = lambda: None,
    ) -> Sent:
        """Send ``request`` until it is answered.

        Args:
            request: what to send; its guard has been checked.
            may_send: called before every attempt, when its place is free and nothing but sending is
                left, so that what it counts is sent; what it raises ends the call.
            cut_off: called where the call is cancelled while an attempt is under way: the server
                may answer it all the same, and bill it.

        Raises:
            CallTimeoutError: no attempt was answered, and the last one hit the deadline.
            ExhaustedError: no attempt was answered, or the server refused for good. After a refusal
                that holds for the whole run (key, model, address), and after an outage that was too
                long (see ``RetryPolicy``), nothing more is sent at all.
        """
        tries = Tries(self._policy, self._clock, self._chance)
        try:
            text, message = await self._until_answered(request, tries, may_send)
        except asyncio.CancelledError:
            if tries.under_way:
                cut_off()
            raise
        except AttemptError as failure:
            error = self._given_up(request, failure, tries.made)
        else:
            return Sent(text, message, tries.made)
        # Raised out here so that it carries no context: an SDK error holds the request's headers.
        raise error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _until_answered(
        self, request: JudgeRequest, tries: Tries, may_send: Callable[[], None]
    ) -> tuple[str, ApiMessage]:
        # Most calls need one attempt, and setting up the retries costs as much as hashing one.
        try:
            return await self._attempt(request, tries, may_send)
        except AttemptError as failure:
            if tries.are_over or not _is_transient(failure):
                raise
        await self._sleep(tries.wait_s)
        retrying = AsyncRetrying(
            stop=lambda _: tries.are_over,
            retry=retry_if_exception(_is_transient),
            wait=lambda _: tries.wait_s,
            sleep=self._sleep,
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                answered = await self._attempt(request, tries, may_send)
        return answered

    async def _attempt(
        self, request: JudgeRequest, tries: Tries, may_send: Callable[[], None]
    ) -> tuple[str, ApiMessage]:
        async with self._limiter.slot() as number:
            # Neither before the wait: much can happen while a call stands in line.
            if self._refused is not None:
                raise AttemptError(self._refused.what, self._refused.kind)
            may_send()
            tries.made += 1
            self.attempts += 1
            self.calls += tries.made == 1
            tries.under_way = True
            try:
                reply = await self._send(request)
                self._hear(number, reply.headers)
                message = parse_message(reply.text)
            except NotAMessageError as error:
                failure = AttemptError(f"a 200 answer that is no Message ({error})", "retry")
            except AttemptError as error:
                failure = error
            else:
                tries.under_way = False
                self._succeed(number, message)
                return reply.text, message
            tries.under_way = False
            self._hear(number, failure.headers)
            self._follow(request, failure)
            tries.meet(failure)
            raise failure

    def _hear(self, number: int, headers: Mapping[str, str]) -> None:
        self._limiter.hear(number, quotas_left(headers, datetime.now(UTC)))

    def _succeed(self, number: int, message: ApiMessage) -> None:
        self._limiter.succeed(number)
        self._outages.answered()
        usage = message.usage
        if usage is not None:
            written = usage.cache_creation_input_tokens or 0
            self._limiter.count_tokens(
                input_tokens=usage.input_tokens + written, output_tokens=usage.output_tokens
            )

    def _follow(self, request: JudgeRequest, failure: AttemptError) -> None:
        """Let a failure of one call count for all, where it is not its own."""
        own = failure.kind == "retry"
        if own and self._outages.is_everybodys(request.request_hash, failure):
            failure.kind = "slow_down"
        if failure.kind == "stop_run":
            self._refused = failure
        if failure.kind != "slow_down":
            return
        self._limiter.slow_down(self._policy.asked_s(failure.retry_after_s))
        refused_for_s = self._limiter.refused_for_s
        if refused_for_s >= self._policy.outage_s:
            what = f"{failure.what}, and no answer to any call for {refused_for_s:.0f} s"
            self._refused = AttemptError(what, "outage")

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

    def _given_up(self, request: JudgeRequest, failure: AttemptError, attempts: int) -> JudgeError:
        where = f"request {request.request_hash[:12]} of {request.purpose}"
        found = f"{failure.what} from {self._transport.server}"
        model = request.settings.model
        if failure.kind == "stop_run":
            return ExhaustedError(
                where,
                f"{found} for model {model!r}; nothing more is sent in this run",
                "a server that takes this key and knows this model",
                "Check ANTHROPIC_API_KEY, --judge-model, ANTHROPIC_BASE_URL and the account's"
                " limits.",
            )
        if failure.kind in {"outage", "slow_down"}:
            end = "nothing more is sent in this run"
            if failure.kind == "slow_down":
                end = f"so for {self._policy.outage_s:g} s, at the last of {attempts} attempts"
            return ExhaustedError(
                where,
                f"{found}; {end}",
                "a server that is not gone or overloaded all the time",
                "Run again later: what is answered is kept. Or lower --max-in-flight.",
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

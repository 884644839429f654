"""What a run has bought, and the limits on what it may buy.

Every call passes through the budget before it is sent. By itself, and waiting its turn::

    async with budget.admit(request) as admission:
        admission.sent()           # just before it goes out
        ...
        admission.settle(message)  # its answer, usable or not: it is paid for

In a round of many, none of which can wait for another::

    admission = budget.enter(request)  # None: leave it for the next round; BudgetError: for good
    if admission is not None:
        admission.sent()
        ...
        admission.settle(message)      # where it was answered
        admission.close()              # in any case

An answer to a call that an earlier run sent is bought by ``budget.buy(message)`` alone.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from evals.config import NO_LIMITS, Limits
from evals.errors import BudgetError
from evals.judging.estimates import Estimates, Size, size_of
from evals.judging.message import ApiMessage
from evals.judging.prices import NO_TOKENS, PriceTable, TokenCounts
from evals.judging.request import JudgeRequest
from evals.untrusted import for_terminal


@dataclass(frozen=True)
class Spending:
    """What a run has bought so far: every answer that came over the wire, usable or not."""

    answers: int
    tokens: TokenCounts
    """Of the answers that state them."""
    cost_usd: float | None
    """None where it cannot be known: ``cost_unknown_why``."""
    cost_unknown_why: str | None
    prices_as_of: date | None
    """Day of the price table; None where none was read."""
    ran_out: str | None
    """The limit that was reached, and how far the run came; None while there is room."""


class Amount(NamedTuple):
    """Something bought, or set aside."""

    calls: int
    tokens: int
    cost_usd: float

    def plus(self, other: "Amount") -> "Amount":
        """Return the sum."""
        return Amount(
            self.calls + other.calls, self.tokens + other.tokens, self.cost_usd + other.cost_usd
        )

    def minus(self, other: "Amount") -> "Amount":
        """Return the difference."""
        return Amount(
            self.calls - other.calls, self.tokens - other.tokens, self.cost_usd - other.cost_usd
        )


_NOTHING = Amount(0, 0, 0.0)
_ONE_CALL = Amount(1, 0, 0.0)
_LEAST = Amount(1, 1, 1e-9)
"""What any call takes."""


# By identity: each is a call of its own, whatever it holds.
@dataclass(eq=False)
class Admission:
    """A place in the budget for one call."""

    budget: "Budget"
    size: Size
    """Of the request, which is not kept: a round can be of a hundred thousand."""
    held: Amount
    """What is set aside for it: the call until it is sent, the rest until it is answered."""

    def sent(self) -> None:
        """Note that it is about to be sent; may be said again before each further attempt."""
        self.budget.count_call(self)

    def settle(self, message: ApiMessage) -> None:
        """Note its answer, and what that cost."""
        self.budget.buy(message, self)

    def close(self) -> None:
        """Give back what is still set aside; a call that was ``sent`` stays counted."""
        self.budget.leave(self)


class Budget:
    """Counts what a run buys, and holds it to its limits. Used on one event loop.

    A call is let through where what was bought, what is set aside for the calls in flight, and what
    it may take itself stay within every limit together. Where only the calls in flight are in the
    way it waits for them, so that a run does not stop because of what they might have cost. Once
    nothing is in the way and it still does not fit, the budget has run out: this call and every
    later one is refused; those in flight are brought to their end and kept.

    ``max_calls`` is exact. Tokens and cost are set aside by estimate (``Estimates``), so a run can
    go over by as much as the calls then in flight exceed theirs. An attempt that ran into its
    deadline may have been billed and states nothing, so it is in no total.
    """

    def __init__(
        self,
        limits: Limits = NO_LIMITS,
        prices: PriceTable | None = None,
        *,
        in_batch: bool = False,
    ) -> None:
        """Start with nothing bought.

        Args:
            limits: of the run.
            prices: None: costs stay unknown. With ``max_cost_usd`` every model asked has a price.
            in_batch: whether all calls go in Message Batches, at their price.
        """
        self._limits = limits
        self._prices = prices
        self._in_batch = in_batch
        self._estimates = Estimates(prices, in_batch=in_batch)
        self._line: deque[tuple[JudgeRequest, asyncio.Future[Admission]]] = deque()
        self._open: set[Admission] = set()
        self._held = _NOTHING
        self._used = _NOTHING
        self._answers = 0
        self._tokens = NO_TOKENS
        self._uncounted = 0
        self._under_way = 0
        """Calls sent and not yet ended."""
        self._unpriced: str | None = None
        self._refused: Amount | None = None
        """The least that there was no room for; None while there is."""

    @property
    def spending(self) -> Spending:
        """A snapshot of what was bought; may be read from any thread."""
        why = self._cost_unknown_why()
        return Spending(
            answers=self._answers,
            tokens=self._tokens,
            cost_usd=self._used.cost_usd if why is None else None,
            cost_unknown_why=why,
            prices_as_of=None if self._prices is None else self._prices.as_of,
            ran_out=self._ran_out,
        )

    @property
    def _ran_out(self) -> str | None:
        return None if self._refused is None else self._excess(self._used.plus(self._refused))

    @property
    def waiting(self) -> int:
        """Calls that wait for those in flight to end."""
        return sum(not place.done() for _, place in self._line)

    @asynccontextmanager
    async def admit(self, request: JudgeRequest) -> AsyncIterator[Admission]:
        """Hold a place for one call while it is made; wait for it where others are in the way.

        Raises:
            BudgetError: it has run out; nothing was sent.
        """
        admission = await self._place_for(request)
        try:
            yield admission
        finally:
            admission.close()

    def enter(self, request: JudgeRequest) -> Admission | None:
        """Return a place, or None where the calls in flight are in the way.

        Raises:
            BudgetError: they are not, or a limit is reached already.
        """
        if self._refused is None:
            size = size_of(request)
            need = self._need_of(size)
            if self._excess(self._used.plus(self._held).plus(need)) is None:
                admission = Admission(self, size, need)
                self._open.add(admission)
                self._held = self._held.plus(need)
                return admission
            least = _LEAST if self._open else need
            if self._excess(self._used.plus(least)) is None:
                return None
            self._refused = least
        raise BudgetError(
            f"request {request.request_hash[:12]} of {request.purpose}",
            f"a budget that is used up ({self._ran_out})",
            "room for one more call",
            "Nothing more is sent. Run again with a larger budget: what was answered is kept.",
        )

    def leave(self, admission: Admission) -> None:
        """End a call, answered or not: see ``Admission.close``."""
        self._under_way -= admission in self._open and not admission.held.calls
        self._release(admission, admission.held)
        self._open.discard(admission)
        if not self._open:
            self._held = _NOTHING  # or roundings would gather
        self._let_in()

    def count_call(self, admission: Admission) -> None:
        """Count a call, once: see ``Admission.sent``."""
        if admission.held.calls:
            self._release(admission, _ONE_CALL)
            self._used = self._used.plus(_ONE_CALL)
            self._under_way += 1

    def buy(self, message: ApiMessage, admission: Admission | None = None) -> None:
        """Count an answer.

        Args:
            message: the answer.
            admission: of the call that it answers; None where this run did not send it.
        """
        held, usage = _NOTHING, message.usage
        if admission is not None:
            held = admission.held
            self._release(admission, held)
        self._answers += 1
        if usage is None:
            # What it took nobody says: against the limits stands what was set aside for it.
            self._uncounted += 1
            self._used = self._used.plus(held)
            return
        tokens = TokenCounts(
            usage.input_tokens,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
            usage.output_tokens,
        )
        self._tokens = self._tokens.plus(tokens)
        if admission is not None:
            self._estimates.learn(admission.size, tokens)
        cost_usd = None
        if self._prices is not None:
            cost_usd = self._prices.cost_usd(message.model, tokens, in_batch=self._in_batch)
        if cost_usd is None:
            self._unpriced = message.model
        self._used = self._used.plus(Amount(0, tokens.all, cost_usd or 0.0))

    async def _place_for(self, request: JudgeRequest) -> Admission:
        admission = None if self._line else self.enter(request)
        if admission is not None:
            return admission
        place: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
        self._line.append((request, place))
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                place.result().close()  # it came just as nobody wanted it any more
            raise

    def _need_of(self, size: Size) -> Amount:
        if self._limits == NO_LIMITS:
            return _ONE_CALL
        tokens = self._estimates.read_tokens(size) + self._estimates.output_tokens(size)
        return Amount(1, tokens, self._estimates.cost_usd(size) or 0.0)

    def _excess(self, amount: Amount) -> str | None:
        """Return which limit an amount is beyond, and what of it is used; None within all."""
        limits, used = self._limits, self._used
        if limits.max_calls is not None and amount.calls > limits.max_calls:
            return f"--max-calls {limits.max_calls}: {used.calls} sent"
        if limits.max_tokens is not None and amount.tokens > limits.max_tokens:
            more = amount.tokens - used.tokens
            also = f", and the next call may take {more}" if more > _LEAST.tokens else ""
            return f"--max-tokens {limits.max_tokens}: {used.tokens} used{also}"
        if limits.max_cost_usd is not None and amount.cost_usd > limits.max_cost_usd:
            more_usd = amount.cost_usd - used.cost_usd
            # A difference of floats: it can be a little off the least.
            dear = more_usd > 2 * _LEAST.cost_usd
            also = f", and the next call may cost ${more_usd:.4f}" if dear else ""
            return f"--max-cost {limits.max_cost_usd:g}: ${used.cost_usd:.4f} spent{also}"
        return None

    def _release(self, admission: Admission, amount: Amount) -> None:
        admission.held = admission.held.minus(amount)
        self._held = self._held.minus(amount)

    def _let_in(self) -> None:
        while self._line:
            request, place = self._line[0]
            if not place.done():
                try:
                    admission = self.enter(request)
                except BudgetError as error:
                    place.set_exception(error)
                else:
                    if admission is None:
                        return
                    place.set_result(admission)
            self._line.popleft()

    def _cost_unknown_why(self) -> str | None:
        if self._prices is None and self._answers:
            return "no price table was read"
        if self._unpriced is not None:
            return f"no price for {for_terminal(self._unpriced)} in pyproject.toml"
        if self._in_batch and self._under_way:  # as where the run ends before its batches do
            return f"{self._under_way} calls are in batches that go on, and will be billed"
        if self._uncounted:
            return f"{self._uncounted} answers without a token count"
        return None

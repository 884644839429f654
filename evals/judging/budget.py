"""The limits on what a run may buy.

Every call passes through the budget before it is sent. By itself, and waiting its turn::

    async with budget.case(needs) as booking:              # waits until the whole case has room
        async with budget.admit(request, [booking]) as admission:
            admission.sent()           # just before it goes out
            ...
            admission.settle(message)  # its answer, usable or not: it is paid for

In a round of many, none of which can wait for another::

    booking = budget.begin(needs)      # None: leave the case for the next round
    admission = budget.enter(request, [booking])  # None: leave the call; BudgetError: for good
    if admission is not None:
        admission.sent()
        ...
        admission.settle(message)      # where it was answered
        admission.close()              # in any case
    ...
    budget.end(booking)                # once the case is judged

A call that may be billed, though its answer will not be heard, ends with ``admission.give_up()``.
An answer to a call that an earlier run sent is bought by ``budget.buy(message, is_own=False)``.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from evals.config import NO_LIMITS, Limits
from evals.errors import BudgetError
from evals.judging.amount import LEAST, NOTHING, ONE_CALL, Amount, excess_of
from evals.judging.booking import Booking
from evals.judging.estimates import Estimate, Estimates, Size, size_of
from evals.judging.ledger import Ledger, Spending, tokens_of
from evals.judging.line import Line
from evals.judging.message import ApiMessage
from evals.judging.needs import Needs
from evals.judging.prices import PriceTable
from evals.judging.request import JudgeRequest

_OF_BEGUN_CASES, _OF_OTHERS, _NEW_CASES = range(3)
"""Who waits for room, first come first: a case is brought to its end before the next one begins."""


# By identity: each is a call of its own, whatever it holds.
@dataclass(eq=False)
class Admission:
    """A place in the budget for one call."""

    budget: "Budget"
    size: Size
    """Of the request, which is not kept: a round can be of a hundred thousand."""
    held: Amount
    """What is set aside for it: the call until it is sent, the rest until it is answered."""

    @property
    def is_sent(self) -> bool:
        """Whether it was sent before."""
        return not self.held.calls

    def sent(self) -> None:
        """Note that it is about to be sent; may be said again before each further attempt."""
        self.budget.count_call(self)

    def settle(self, message: ApiMessage) -> None:
        """Note its answer, and what that cost."""
        self.budget.buy(message, self)

    def give_up(self) -> None:
        """End it without its answer, though it may be billed: what is set aside stands."""
        self.budget.give_up(self)

    def close(self) -> None:
        """Give back what is still set aside; a call that was ``sent`` stays counted."""
        self.budget.leave(self)


class Budget:
    """Holds a run to its limits. Used on one event loop.

    Whole cases are let in, so that what is bought comes to verdicts: a case begins where what was
    bought, what is set aside for the calls in flight, what the cases that have begun may still need
    and what it may need itself stay within every limit together. The first that does not fit as a
    whole, and no other, may use what is left call by call. What only waits for others to end is not
    refused. Once nothing is in the way of a call and it still does not fit, by an estimate without
    any margin, the budget has run out: this call and every later one is refused; those in flight
    are brought to their end and kept.

    ``max_calls`` is exact. Tokens and cost are set aside by estimate, with a margin
    (``Estimates.with_margin``), so a run goes over by no more than the calls then in flight exceed
    what is set aside for them; where that is one call alone, by what it exceeds its estimate. An
    attempt that ran into its deadline may have been billed and states nothing, so it is in no
    total.
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
        self._ledger = Ledger(prices, in_batch=in_batch)
        self._estimates = Estimates(prices, in_batch=in_batch)
        self._line = Line()
        self._open: set[Admission] = set()
        self._held = NOTHING
        self._begun: set[Booking] = set()
        self._booked = NOTHING
        """What the cases that have begun may still need, beyond what is held."""
        self._single: Booking | None = None
        """Of the case that may use what is left, call by call."""
        self._spoken_for: set[str] = set()
        """Requests that were let through or are booked: a second case that asks one needs nothing
        for it."""
        self._under_way = 0
        """Calls sent and not yet ended."""
        self._refused: Amount | None = None
        """The least that there was no room for; None while there is."""

    @property
    def is_limited(self) -> bool:
        """Whether it can run out: if not, no case needs to be booked."""
        return self._limits != NO_LIMITS

    @property
    def spending(self) -> Spending:
        """A snapshot of what was bought; may be read from any thread."""
        return self._ledger.spending(self._ran_out, self._under_way)

    @property
    def waiting(self) -> int:
        """Calls and cases that wait for others to end."""
        return self._line.waiting

    def takes_cases(self) -> bool:
        """Tell whether the next case need not wait: for room, or to be refused.

        Where there is room by now for the case that uses what is left, all of it is set aside.
        """
        single = self._single
        return self._refused is not None or single is None or self._claim(single)

    @asynccontextmanager
    async def case(self, needs: Needs) -> AsyncIterator[Booking]:
        """Hold room for a case while it is judged; wait for it.

        Where the budget has run out there is none to wait for, and each of its calls is refused.
        """
        booking = await self._line.stand(lambda: _NEW_CASES, partial(self.begin, needs), self.end)
        try:
            yield booking
        finally:
            self.end(booking)

    def begin(self, needs: Needs) -> Booking | None:
        """Return room for a case, to be given back by ``end``; None where it has to wait."""
        if not self.takes_cases():
            return None
        booking = Booking.of(needs, self._estimates, self._with_margin)
        if self._refused is None and not self._claim(booking):
            self._single = booking
        return booking

    def end(self, booking: Booking) -> None:
        """Give back what a case did not need."""
        if booking is self._single:
            self._single = None
        if booking in self._begun:
            self._begun.remove(booking)
            self._booked = self._booked.minus(booking.amount) if self._begun else NOTHING
            self._spoken_for -= booking.now.keys()
        self._line.let_in()

    @asynccontextmanager
    async def admit(
        self, request: JudgeRequest, bookings: Sequence[Booking] = ()
    ) -> AsyncIterator[Admission]:
        """Hold a place for one call while it is made; wait for it where others are in the way.

        Args:
            request: what is to be sent.
            bookings: of the cases that ask it, if any; may grow while it waits: see ``stir``.

        Raises:
            BudgetError: it has run out; nothing was sent.
        """
        take = partial(self.enter, request, bookings)
        admission = await self._line.stand(partial(_rank_of, bookings), take, self.leave)
        try:
            yield admission
        finally:
            admission.close()

    def stir(self) -> None:
        """Look again who can be let in: what a case that has begun asks goes first."""
        self._line.let_in()

    def enter(self, request: JudgeRequest, bookings: Sequence[Booking] = ()) -> Admission | None:
        """Return a place, or None where others are in the way.

        Args:
            request: what is to be sent.
            bookings: of the cases that ask it, if any.

        Raises:
            BudgetError: they are not, or a limit is reached already.
        """
        self.check(request)
        size = size_of(request)
        if self._single is not None and self._single in bookings:
            self._claim(self._single)
        is_of_begun = _is_of_begun(bookings)
        taken = self._ledger.used.plus(self._held)
        if not is_of_begun:
            taken = taken.plus(self._booked)
        set_aside = self._with_margin(size)
        if self._excess(taken.plus(set_aside)) is None:
            return self._let_through(request, size, set_aside, bookings)
        # What other cases have booked stops none that has begun: they would wait for each other.
        is_alone = not self._open and (is_of_begun or not self._begun)
        least = self._amount(self._estimates.of(size)) if is_alone else LEAST
        if self._excess(self._ledger.used.plus(least)) is None:
            return self._let_through(request, size, least, bookings) if is_alone else None
        self._refused = least
        raise self._refusal(request)

    def check(self, request: JudgeRequest) -> None:
        """Refuse a request where the budget has run out.

        Raises:
            BudgetError: it has.
        """
        if self._refused is not None:
            raise self._refusal(request)

    def leave(self, admission: Admission) -> None:
        """End a call, answered or not: see ``Admission.close``."""
        self._under_way -= admission in self._open and not admission.held.calls
        self._release(admission, admission.held)
        self._open.discard(admission)
        if not self._open:
            self._held = NOTHING  # or roundings would gather
        self._line.let_in()

    def count_call(self, admission: Admission) -> None:
        """Count a call, once: see ``Admission.sent``."""
        if admission.held.calls:
            self._release(admission, ONE_CALL)
            self._ledger.count_call()
            self._under_way += 1

    def give_up(self, admission: Admission) -> None:
        """End a call without its answer: see ``Admission.give_up``."""
        self._ledger.give_up(admission.held)
        self.leave(admission)

    def buy(
        self, message: ApiMessage, admission: Admission | None = None, *, is_own: bool = True
    ) -> None:
        """Count an answer.

        Args:
            message: the answer.
            admission: of the call that it answers; None where that has left the budget.
            is_own: whether this run sent the call.
        """
        held = NOTHING
        if admission is not None:
            held = admission.held
            self._release(admission, held)
        tokens = self._ledger.buy(message, held, is_own=is_own)
        if admission is not None and tokens is not None:
            self._estimates.learn(admission.size, tokens)

    def learn(self, request: JudgeRequest, message: ApiMessage) -> None:
        """Let an answer that is there already show what others like it will take."""
        tokens = tokens_of(message)
        if self.is_limited and tokens is not None:
            self._estimates.learn(size_of(request), tokens)

    @property
    def _ran_out(self) -> str | None:
        refused = self._refused
        return None if refused is None else self._excess(self._ledger.used.plus(refused))

    def _claim(self, booking: Booking) -> bool:
        """Set aside all that a case needs, and tell whether there is room for it."""
        booking.drop(self._spoken_for)
        amount = booking.amount
        taken = self._ledger.used.plus(self._held).plus(self._booked)
        if self._excess(taken.plus(amount)) is not None:
            return False
        if booking is self._single:
            self._single = None
        booking.is_whole = True
        self._begun.add(booking)
        self._booked = self._booked.plus(amount)
        self._spoken_for |= booking.now.keys()
        return True

    def _let_through(
        self, request: JudgeRequest, size: Size, set_aside: Amount, bookings: Sequence[Booking]
    ) -> Admission:
        for booking in bookings:
            part = booking.take(request.request_hash, request.purpose)
            if booking.is_whole:
                self._booked = self._booked.minus(part)
        if self.is_limited:
            self._spoken_for.add(request.request_hash)
        admission = Admission(self, size, set_aside)
        self._open.add(admission)
        self._held = self._held.plus(set_aside)
        return admission

    def _with_margin(self, size: Size) -> Amount:
        return self._amount(self._estimates.with_margin(size)) if self.is_limited else ONE_CALL

    def _amount(self, estimate: Estimate) -> Amount:
        tokens = estimate.read_tokens + estimate.output_tokens
        return Amount(1, tokens, estimate.cost_usd or 0.0)

    def _excess(self, amount: Amount) -> str | None:
        return excess_of(amount, self._limits, self._ledger.used)

    def _release(self, admission: Admission, amount: Amount) -> None:
        admission.held = admission.held.minus(amount)
        self._held = self._held.minus(amount)

    def _refusal(self, request: JudgeRequest) -> BudgetError:
        return BudgetError(
            f"request {request.request_hash[:12]} of {request.purpose}",
            f"a budget without room for it ({self._ran_out})",
            "room for one more call",
            "Nothing more is sent; what was answered is kept. Run again with a larger budget:"
            " --plan says what the rest needs.",
        )


def _rank_of(bookings: Sequence[Booking]) -> int:
    return _OF_BEGUN_CASES if _is_of_begun(bookings) else _OF_OTHERS


def _is_of_begun(bookings: Sequence[Booking]) -> bool:
    return any(booking.is_whole for booking in bookings)

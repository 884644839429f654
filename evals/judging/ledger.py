"""What a run has bought: calls, tokens and dollars, each answer once."""

from dataclasses import dataclass
from datetime import date

from evals.judging.amount import NOTHING, ONE_CALL, Amount
from evals.judging.message import ApiMessage
from evals.judging.prices import NO_TOKENS, PriceTable, TokenCounts
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
    taken_up: int = 0
    """Of the answers, those to calls that an earlier run had sent."""


class Ledger:
    """Counts what is bought. Written on one event loop."""

    def __init__(self, prices: PriceTable | None, *, in_batch: bool) -> None:
        """Start with nothing bought.

        Args:
            prices: None: costs stay unknown.
            in_batch: whether all calls go in Message Batches, at their price.
        """
        self.prices = prices
        self.in_batch = in_batch
        self.used = NOTHING
        """What stands against the limits."""
        self._answers = 0
        self._tokens = NO_TOKENS
        self._taken_up = 0
        self._uncounted = 0
        self._unheard = 0
        self._paid_usd = 0.0
        """Of the answers whose price is known."""
        self._unpriced: str | None = None

    def count_call(self) -> None:
        """Count a call that is sent."""
        self.used = self.used.plus(ONE_CALL)

    def give_up(self, set_aside: Amount) -> None:
        """Count a call that was sent and may be billed, though nobody hears its answer."""
        self._unheard += 1
        self.used = self.used.plus(set_aside)

    def buy(
        self, message: ApiMessage, set_aside: Amount, *, is_own: bool = True
    ) -> TokenCounts | None:
        """Count an answer.

        Args:
            message: the answer.
            set_aside: for it, beside the call. What it took where it does not say itself: that is
                what stands against the limits then.
            is_own: whether this run sent the call.

        Returns:
            What it took; None where it does not say.
        """
        self._answers += 1
        self._taken_up += not is_own
        tokens = tokens_of(message)
        if tokens is None:
            self._uncounted += 1
            self.used = self.used.plus(set_aside)
            return None
        self._tokens = self._tokens.plus(tokens)
        cost_usd = None
        if self.prices is not None:
            cost_usd = self.prices.cost_usd(message.model, tokens, in_batch=self.in_batch)
        if cost_usd is None:
            self._unpriced = message.model
        self._paid_usd += cost_usd or 0.0
        self.used = self.used.plus(Amount(0, tokens.all, cost_usd or 0.0))
        return tokens

    def spending(self, ran_out: str | None, under_way: int) -> Spending:
        """Return a snapshot; may be asked for from any thread.

        Args:
            ran_out: the limit that was reached.
            under_way: calls sent and not yet ended.
        """
        why = self._cost_unknown_why(under_way)
        return Spending(
            answers=self._answers,
            tokens=self._tokens,
            cost_usd=self.used.cost_usd if why is None else None,
            cost_unknown_why=why,
            prices_as_of=None if self.prices is None else self.prices.as_of,
            ran_out=ran_out,
            taken_up=self._taken_up,
        )

    def _cost_unknown_why(self, under_way: int) -> str | None:
        if self.prices is None and self._answers:
            return "no price table was read"
        if self._unpriced is not None:
            return f"no price for {for_terminal(self._unpriced)} in pyproject.toml"
        if self.in_batch and under_way:  # as where the run ends before its batches do
            return f"{under_way} calls are in batches that go on, and will be billed"
        if self._uncounted:
            return f"{self._uncounted} answers without a token count"
        return self._unheard_why if self._unheard else None

    @property
    def _unheard_why(self) -> str:
        if self.in_batch:
            return f"{self._unheard} calls were sent in batches, not answered, and may be billed"
        what = f"{self._unheard} calls were cut off in flight, and may be billed"
        return f"{what}; the {self._answers} answered cost ${self._paid_usd:.4f}"


def tokens_of(message: ApiMessage) -> TokenCounts | None:
    """Return what an answer took; None where it does not say."""
    usage = message.usage
    if usage is None:
        return None
    return TokenCounts(
        usage.input_tokens,
        usage.cache_read_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        usage.output_tokens,
    )

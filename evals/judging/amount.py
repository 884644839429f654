"""Calls, tokens and dollars together: what was bought, is set aside, or may be needed."""

from typing import NamedTuple

from evals.config import Limits


class Amount(NamedTuple):
    """So much of each."""

    calls: int
    tokens: int
    """Read and written."""
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


NOTHING = Amount(0, 0, 0.0)
ONE_CALL = Amount(1, 0, 0.0)
LEAST = Amount(1, 1, 1e-9)
"""What any call takes."""


def excess_of(amount: Amount, limits: Limits, used: Amount) -> str | None:
    """Return which limit an amount is beyond, and what of it is used; None within all of them.

    Args:
        amount: all that is used, set aside and wanted.
        limits: of the run.
        used: what of the amount is bought already.
    """
    if limits.max_calls is not None and amount.calls > limits.max_calls:
        return f"--max-calls {limits.max_calls}: {used.calls} sent"
    if limits.max_tokens is not None and amount.tokens > limits.max_tokens:
        more = amount.tokens - used.tokens
        also = f", and the next call is estimated at {more}" if more > LEAST.tokens else ""
        return f"--max-tokens {limits.max_tokens}: {used.tokens} used{also}"
    if limits.max_cost_usd is not None and amount.cost_usd > limits.max_cost_usd:
        more_usd = amount.cost_usd - used.cost_usd
        # A difference of floats: it can be a little off the least.
        dear = more_usd > 2 * LEAST.cost_usd
        also = f", and the next call is estimated at ${more_usd:.4f}" if dear else ""
        return f"--max-cost {limits.max_cost_usd:g}: ${used.cost_usd:.4f} spent{also}"
    return None

"""What a run bought, as its record keeps it."""

from typing import Any, Literal

from pydantic import Field

from evals.config import Limits
from evals.judging.ledger import Spending
from evals.records import Record


class TokensBought(Record):
    """Tokens of the answers that a run bought, as the API counts them; none is in two of them."""

    input: int = Field(ge=0)
    """Read in full: neither from the cache nor written to it."""
    cache_read: int = Field(ge=0)
    cache_write: int = Field(ge=0)
    output: int = Field(ge=0)

    @property
    def read(self) -> int:
        """All that was read, from the cache or not."""
        return self.input + self.cache_read + self.cache_write


CountsAre = Literal["exact", "at_least", "unknown"]
"""What is known of a run's counts. at_least: the process that judges did not end by itself, so each
may be more; unknown: nobody could tell, and they are null."""

_NOT_ALL_COUNTED = "the process that judges did not end by itself, and told of no more than this"


def bought_fields(
    spending: Spending | None, limits: Limits, *, is_exact: bool = True
) -> dict[str, Any]:
    """Return the fields of ``RunInfo`` that say what was bought.

    Args:
        spending: at the end of the run; None before it, and where nobody could tell.
        limits: of the run.
        is_exact: whether ``spending`` is all of it; else it is what is known, and more was bought.
    """
    if spending is None:
        return {
            "counts_are": "unknown",
            "answers_bought": None,
            "calls_taken_up": None,
            "tokens_bought": None,
            "cost_usd": None,
            "cost_unknown_why": "the run did not come to its end",
            "prices_as_of": None,
            "limits": limits,
            "budget_ran_out": None,
        }
    tokens = spending.tokens
    return {
        "counts_are": "exact" if is_exact else "at_least",
        "answers_bought": spending.answers,
        "calls_taken_up": spending.taken_up,
        "tokens_bought": TokensBought(
            input=tokens.input,
            cache_read=tokens.cache_read,
            cache_write=tokens.cache_write,
            output=tokens.output,
        ),
        "cost_usd": spending.cost_usd if is_exact else None,
        "cost_unknown_why": spending.cost_unknown_why if is_exact else _NOT_ALL_COUNTED,
        "prices_as_of": spending.prices_as_of,
        "limits": limits,
        "budget_ran_out": spending.ran_out,
    }

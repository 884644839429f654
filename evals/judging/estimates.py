"""What a call may take before it is answered: learned from the answers to the same prompt."""

from dataclasses import dataclass
from typing import NamedTuple

from evals.judging.prices import PriceTable, TokenCounts
from evals.judging.request import JudgeRequest

CHARS_PER_TOKEN = 3.0
"""Characters of a request's body to a token, where no answer has shown it. English prose comes to
some 4 with older tokenizers and to some 3 with newer ones; more tokens is the safer side."""


class Size(NamedTuple):
    """What an estimate needs to know of a request."""

    purpose: str
    model: str
    body_chars: int
    system_chars: int
    """Of them, the instructions: all requests of a purpose share them, so they can be cached."""
    max_tokens: int


def size_of(request: JudgeRequest) -> Size:
    """Return the size of a request."""
    return Size(
        purpose=request.purpose,
        model=request.settings.model,
        body_chars=len(request.body),
        system_chars=len(request.prompt.system),
        max_tokens=request.max_tokens,
    )


@dataclass
class _Seen:
    """The answers to one prompt so far."""

    answers: int = 0
    body_chars: int = 0
    read_tokens: int = 0
    read_cost_usd: float = 0.0
    output_tokens: int = 0


class Estimates:
    """Tokens and cost of calls to come, by purpose."""

    def __init__(self, prices: PriceTable | None, *, in_batch: bool) -> None:
        """Know nothing yet.

        Args:
            prices: None: no cost can be told.
            in_batch: whether the calls go in Message Batches, at their price.
        """
        self._prices = prices
        self._in_batch = in_batch
        self._seen: dict[str, _Seen] = {}

    def learn(self, size: Size, tokens: TokenCounts) -> None:
        """Take in what one answer took."""
        seen = self._seen.setdefault(size.purpose, _Seen())
        seen.answers += 1
        seen.body_chars += size.body_chars
        seen.read_tokens += tokens.read
        seen.output_tokens += tokens.output
        seen.read_cost_usd += self._price(size.model, tokens._replace(output=0)) or 0.0

    def knows(self, purpose: str) -> bool:
        """Tell whether an answer to this prompt has been seen."""
        return purpose in self._seen

    def read_tokens(self, size: Size) -> int:
        """Return how many tokens the call will read, cached ones included."""
        seen = self._seen.get(size.purpose)
        if seen is None:
            return round(size.body_chars / CHARS_PER_TOKEN)
        return round(size.body_chars * seen.read_tokens / seen.body_chars)

    def output_tokens(self, size: Size) -> int:
        """Return the mean answer to this prompt, or, before there is one, the longest allowed."""
        seen = self._seen.get(size.purpose)
        return size.max_tokens if seen is None else round(seen.output_tokens / seen.answers)

    def cost_usd(self, size: Size) -> float | None:
        """Return what the call will cost; None where its model has no price.

        Before an answer was seen all input counts as written to the cache, its dearest kind.
        """
        read = self.read_tokens(size)
        dearest = self._price(size.model, TokenCounts(0, 0, read, 0))
        written = self._price(size.model, TokenCounts(0, 0, 0, self.output_tokens(size)))
        if dearest is None or written is None:
            return None
        seen = self._seen.get(size.purpose)
        if seen is None or not seen.read_tokens:
            return dearest + written
        return read * seen.read_cost_usd / seen.read_tokens + written

    def least_cost_usd(self, size: Size) -> float | None:
        """Return what the call will cost at least; None where its model has no price.

        Before an answer was seen that is its input, with the instructions read from the cache; the
        answer may be a word. After that it is ``cost_usd``.
        """
        if self.knows(size.purpose):
            return self.cost_usd(size)
        cached = round(size.system_chars / CHARS_PER_TOKEN)
        tokens = TokenCounts(self.read_tokens(size) - cached, cached, 0, 0)
        return self._price(size.model, tokens)

    def _price(self, model: str, tokens: TokenCounts) -> float | None:
        if self._prices is None:
            return None
        return self._prices.cost_usd(model, tokens, in_batch=self._in_batch)

"""What a call may take before it is answered: learned from the answers to the same prompt."""

from dataclasses import dataclass
from typing import NamedTuple

from evals.judging.prices import PriceTable, TokenCounts
from evals.judging.request import JudgeRequest

CHARS_PER_TOKEN = 3.0
"""Characters of a request's body to a token, where no answer has shown it. English prose comes to
some 4 with older tokenizers and to some 3 with newer ones; more tokens is the safer side."""

USUAL_ANSWER_TOKENS = {
    "premise.pass_1": 275,
    "premise.pass_2": 375,
    "premise.minimality": 300,
    "premise.attribution_search": 75,
    "set_level.judge": 75,
    "coverage.gold": 2_500,
    "coverage.matching": 900,
    "coverage.question_generation": 350,
    "coverage.answering": 25,
    "coverage.comparison": 80,
    "coverage.topics": 500,
}
"""Purpose -> tokens of an answer, where no answer of the run has shown it: the mean length of the
answers in ``fixtures/recordings`` at ``CHARS_PER_TOKEN``, rounded up; a test measures them anew."""
USUAL_THINKING_TOKENS = 2_000
"""On top of it where the judge reasons: a quarter of the room that requests give to it. No recorded
answer shows it."""
UNSEEN_MARGIN = 2.0
"""How much longer an answer may be than the estimate of ``USUAL_ANSWER_TOKENS``; see
``Estimates.with_margin``."""
SEEN_MARGIN = 1.25
"""The same for one that rests on answers of the run."""


class Size(NamedTuple):
    """What an estimate needs to know of a request."""

    purpose: str
    model: str
    body_chars: int
    max_tokens: int
    thinks: bool
    """Whether the judge may reason before it answers."""


def size_of(request: JudgeRequest) -> Size:
    """Return the size of a request."""
    return Size(
        purpose=request.purpose,
        model=request.settings.model,
        body_chars=len(request.body),
        max_tokens=request.max_tokens,
        thinks=request.settings.reasoning == "adaptive",
    )


class Estimate(NamedTuple):
    """What one call may take."""

    read_tokens: int
    """Cached ones included."""
    output_tokens: int
    cost_usd: float | None
    """None where its model has no price."""


@dataclass
class _Seen:
    """The answers to one prompt so far."""

    answers: int = 0
    body_chars: int = 0
    read_tokens: int = 0
    read_cost_usd: float = 0.0
    output_tokens: int = 0


class Estimates:
    """Tokens and cost of calls to come, by purpose. The plan and the budget rest on them alike."""

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

    def of(self, size: Size) -> Estimate:
        """Return what the call will take: the mean of the answers to its prompt that were seen.

        Before there is one, the answer is of the usual length (``USUAL_ANSWER_TOKENS``; for a
        purpose that is not in there, the longest that the request allows), and all input counts as
        written to the cache, its dearest kind.
        """
        return self._with_output(size, self._output_tokens(size))

    def with_margin(self, size: Size) -> Estimate:
        """Return what to set aside for the call while others are in flight.

        Its answer may be longer than the estimate by a quarter, and by twice before one to its
        prompt was seen; never longer than the request allows.
        """
        margin = SEEN_MARGIN if self.knows(size.purpose) else UNSEEN_MARGIN
        output_tokens = round(margin * self._output_tokens(size))
        return self._with_output(size, min(output_tokens, size.max_tokens))

    def at_most(self, size: Size) -> Estimate:
        """Return what the call takes if its answer is the longest that the request allows."""
        return self._with_output(size, size.max_tokens)

    def _output_tokens(self, size: Size) -> int:
        if size.purpose in self._seen:
            seen = self._seen[size.purpose]
            return round(seen.output_tokens / seen.answers)
        if size.purpose not in USUAL_ANSWER_TOKENS:
            return size.max_tokens
        thinking = USUAL_THINKING_TOKENS if size.thinks else 0
        return min(size.max_tokens, USUAL_ANSWER_TOKENS[size.purpose] + thinking)

    def _with_output(self, size: Size, output_tokens: int) -> Estimate:
        read_tokens, read_usd = self._read(size)
        written_usd = self._price(size.model, TokenCounts(0, 0, 0, output_tokens))
        if read_usd is None or written_usd is None:
            return Estimate(read_tokens, output_tokens, None)
        return Estimate(read_tokens, output_tokens, read_usd + written_usd)

    def _read(self, size: Size) -> tuple[int, float | None]:
        """Return how many tokens the call will read, and what that costs."""
        if size.purpose in self._seen:
            seen = self._seen[size.purpose]
            tokens = round(size.body_chars * seen.read_tokens / seen.body_chars)
            if seen.read_tokens and self._price(size.model, TokenCounts(0, 0, 0, 0)) is not None:
                return tokens, tokens * seen.read_cost_usd / seen.read_tokens
        else:
            tokens = round(size.body_chars / CHARS_PER_TOKEN)
        return tokens, self._price(size.model, TokenCounts(0, 0, tokens, 0))

    def _price(self, model: str, tokens: TokenCounts) -> float | None:
        if self._prices is None:
            return None
        return self._prices.cost_usd(model, tokens, in_batch=self._in_batch)

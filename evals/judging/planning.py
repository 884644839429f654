"""What a run would need: its cases walked over the answers that there are, without a call."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evals.errors import NotRecordedError
from evals.judging.case import Case, RunContext
from evals.judging.estimates import CHARS_PER_TOKEN, Estimates, Size, size_of
from evals.judging.prices import PriceTable, TokenCounts
from evals.judging.request import JudgeRequest
from evals.judging.response import Judge, JudgeResponse
from evals.records import Call


class Span(NamedTuple):
    """From least to most."""

    least: float
    most: float


@dataclass(frozen=True)
class Lacking:
    """Calls of one purpose that a run would have to make."""

    purpose: str
    calls: Span
    read_tokens: Span
    output_tokens: Span
    cost_usd: Span | None
    """Of single calls, not in a batch; None where the model has no price."""


@dataclass(frozen=True)
class Plan:
    """What a run would need."""

    stored: dict[str, int]
    """Answers that are there, by purpose."""
    now: tuple[Lacking, ...]
    """Exactly the calls that can be told already, by purpose in the order met."""
    later: tuple[Lacking, ...]
    """Bounds of those that hang on their answers. The least is what follows if all answers can be
    used and no answer to a later call is stored."""

    @property
    def lacking(self) -> tuple[Lacking, ...]:
        """Both."""
        return self.now + self.later

    @property
    def calls(self) -> Span:
        """All calls that the run would make."""
        return _sum(each.calls for each in self.lacking)

    @property
    def cost_usd(self) -> Span | None:
        """What they would cost by themselves, not in batches; None where there is no price."""
        return _sum_known([each.cost_usd for each in self.lacking])


class _Later(NamedTuple):
    size: Size
    calls: Span
    fed_by: tuple[str, ...]
    asker: frozenset[str]
    """Requests that the case lacks: cases that lack the same may turn out to ask the same."""


class Planner:
    """Walks cases, and adds up what they lack."""

    def __init__(self, judge: Judge, prices: PriceTable | None) -> None:
        """Start with no case.

        Args:
            judge: raises ``NotRecordedError`` where there is no answer, and makes no call.
            prices: None: no cost can be told.
        """
        self._judge = judge
        self._estimates = Estimates(prices, in_batch=False)
        self._stored: dict[str, str] = {}
        self._now: dict[str, Size] = {}
        self._later: list[_Later] = []

    async def walk(self, case: Case, context: RunContext) -> None:
        """Evaluate a case as far as the answers reach.

        Raises:
            EvalError: what evaluating it raises: a leak, a store that cannot be read.
        """
        watched = _Watched(self._judge)
        await case.evaluate(watched, context)
        for request, call in watched.answered:
            if request.request_hash not in self._stored:
                self._stored[request.request_hash] = request.purpose
                self._learn(request, call)
        if not watched.missing:
            return
        self._now |= {each.request_hash: size_of(each) for each in watched.missing}
        asker = frozenset(each.request_hash for each in watched.missing)
        lacks = {each.purpose for each in watched.missing}
        for item in case.follow_ups(lacks, context.settings):
            calls = Span(item.least, item.most)
            self._later.append(_Later(size_of(item.request), calls, item.fed_by, asker))

    def plan(self) -> Plan:
        """Return what the cases walked so far lack together."""
        return Plan(
            stored=dict(Counter(self._stored.values())),
            now=tuple(
                self._lacking(purpose, [(size, size, Span(1, 1)) for size in sizes])
                for purpose, sizes in _by_purpose(self._now.values()).items()
            ),
            later=tuple(
                self._lacking(purpose, self._grown(purpose))
                for purpose in _by_purpose(item.size for item in self._later)
            ),
        )

    def _learn(self, request: JudgeRequest, call: Call) -> None:
        if call.input_tokens is None or call.output_tokens is None:
            return  # an answer from elsewhere, which states no count
        tokens = TokenCounts(
            call.input_tokens,
            call.cache_read_tokens or 0,
            call.cache_write_tokens or 0,
            call.output_tokens,
        )
        self._estimates.learn(size_of(request), tokens)

    def _grown(self, purpose: str) -> list[tuple[Size, Size, Span]]:
        """Return the later calls of a purpose: size as rendered, and with what feeds it; calls."""
        sizes = [*self._now.values(), *(item.size for item in self._later)]
        answers = {
            fed: max(self._estimates.output_tokens(size) for size in found)
            for fed, found in _by_purpose(sizes).items()
        }
        grown: list[tuple[Size, Size, Span]] = []
        askers: set[frozenset[str]] = set()
        for item in self._later:
            if item.size.purpose != purpose:
                continue
            fed_tokens = sum(answers[fed] for fed in item.fed_by if fed in answers)
            chars = item.size.body_chars + round(fed_tokens * CHARS_PER_TOKEN)
            least = 0 if item.asker in askers else item.calls.least
            askers.add(item.asker)
            fed_size = item.size._replace(body_chars=chars)
            grown.append((item.size, fed_size, Span(least, item.calls.most)))
        return grown

    def _lacking(self, purpose: str, calls: Sequence[tuple[Size, Size, Span]]) -> Lacking:
        estimates = self._estimates
        knows = estimates.knows(purpose)
        reads: list[Span] = []
        outputs: list[Span] = []
        costs: list[Span | None] = []
        for small, large, times in calls:
            output = estimates.output_tokens(small)
            reads.append(_times(times, estimates.read_tokens(small), estimates.read_tokens(large)))
            outputs.append(_times(times, output if knows else 0, output))
            least_usd, most_usd = estimates.least_cost_usd(small), estimates.cost_usd(large)
            if least_usd is None or most_usd is None:
                costs.append(None)
            else:
                costs.append(_times(times, least_usd, most_usd))
        return Lacking(
            purpose=purpose,
            calls=_sum(times for _, _, times in calls),
            read_tokens=_sum(reads),
            output_tokens=_sum(outputs),
            cost_usd=_sum_known(costs),
        )


class _Watched:
    """A judge that notes what one case asks it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.answered: list[tuple[JudgeRequest, Call]] = []
        self.missing: list[JudgeRequest] = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Ask, and note whether there is an answer; see ``Judge.ask``."""
        try:
            response = await self._judge.ask(request)
        except NotRecordedError:
            self.missing.append(request)
            raise
        self.answered.append((request, response.call))
        return response


def _by_purpose(sizes: Iterable[Size]) -> dict[str, list[Size]]:
    found: dict[str, list[Size]] = {}
    for size in sizes:
        found.setdefault(size.purpose, []).append(size)
    return found


def _times(calls: Span, least: float, most: float) -> Span:
    return Span(calls.least * least, calls.most * most)


def _sum(spans: Iterable[Span]) -> Span:
    listed = list(spans)
    return Span(sum(span.least for span in listed), sum(span.most for span in listed))


def _sum_known(spans: Sequence[Span | None]) -> Span | None:
    known = [span for span in spans if span is not None]
    return _sum(known) if len(known) == len(spans) else None

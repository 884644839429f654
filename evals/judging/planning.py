"""What a run would need: its cases walked over the answers that there are, without a call."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evals.errors import NotRecordedError
from evals.judging.case import Case, RunContext
from evals.judging.estimates import Estimates, Size, size_of
from evals.judging.needs import Needs, Span, needs_of
from evals.judging.prices import PriceTable, TokenCounts
from evals.judging.request import JudgeRequest
from evals.judging.response import Judge, JudgeResponse
from evals.records import Call


@dataclass(frozen=True)
class Lacking:
    """Calls of one purpose that a run would have to make.

    Tokens and cost are what the budget of a run takes a call for (``Estimates.of``), times the
    least and the most calls.
    """

    purpose: str
    calls: Span
    read_tokens: Span
    output_tokens: Span
    cost_usd: Span | None
    """Of single calls, not in a batch; None where the model has no price."""
    ceiling_usd: float | None
    """Of the most calls, were every answer the longest allowed; None as ``cost_usd``."""
    is_learned: bool
    """Whether it rests on answers to this prompt that are stored."""


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
        known = [each.cost_usd for each in self.lacking if each.cost_usd is not None]
        return _sum(known) if len(known) == len(self.lacking) else None

    @property
    def ceiling_usd(self) -> float | None:
        """What they cannot exceed, beside what estimates of their input are off; None as that."""
        known = [each.ceiling_usd for each in self.lacking if each.ceiling_usd is not None]
        return sum(known) if len(known) == len(self.lacking) else None


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
        self._needs: list[Needs] = []

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
        if watched.missing:
            needs = needs_of(case, watched.missing, context.settings)
            self._now |= needs.now
            self._needs.append(needs)

    def plan(self) -> Plan:
        """Return what the cases walked so far lack together."""
        now: dict[str, list[tuple[Size, Span]]] = {}
        for size in self._now.values():
            now.setdefault(size.purpose, []).append((size, Span(1, 1)))
        return Plan(
            stored=dict(Counter(self._stored.values())),
            now=tuple(self._lacking(purpose, calls) for purpose, calls in now.items()),
            later=tuple(self._lacking(purpose, calls) for purpose, calls in self._later().items()),
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

    def _later(self) -> dict[str, list[tuple[Size, Span]]]:
        """Return the later calls by purpose."""
        found: dict[str, list[tuple[Size, Span]]] = {}
        # Cases that lack the same may turn out to ask the same.
        askers: set[tuple[str, frozenset[str]]] = set()
        for needs in self._needs:
            for size, least, most in needs.later(self._estimates):
                asker = size.purpose, frozenset(needs.now)
                calls = Span(0 if asker in askers else least, most)
                askers.add(asker)
                found.setdefault(size.purpose, []).append((size, calls))
        return found

    def _lacking(self, purpose: str, calls: Sequence[tuple[Size, Span]]) -> Lacking:
        usual = [(self._estimates.of(size), times) for size, times in calls]
        costs = [_times(times, each.cost_usd) for each, times in usual if each.cost_usd is not None]
        ceilings = [(self._estimates.at_most(size).cost_usd, times) for size, times in calls]
        has_price = len(costs) == len(calls)
        return Lacking(
            purpose=purpose,
            calls=_sum(times for _, times in calls),
            read_tokens=_sum(_times(times, each.read_tokens) for each, times in usual),
            output_tokens=_sum(_times(times, each.output_tokens) for each, times in usual),
            cost_usd=_sum(costs) if has_price else None,
            ceiling_usd=sum((usd or 0.0) * times.most for usd, times in ceilings)
            if has_price
            else None,
            is_learned=self._estimates.knows(purpose),
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


def _times(calls: Span, each: float) -> Span:
    return Span(calls.least * each, calls.most * each)


def _sum(spans: Iterable[Span]) -> Span:
    listed = list(spans)
    return Span(sum(span.least for span in listed), sum(span.most for span in listed))

"""Plans of small cases: what is counted once, what is learned, and how far bounds reach."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from evals.errors import JudgeError, StoreError
from evals.judging.case import Case, FollowUp, Row, RunContext
from evals.judging.engine import JudgeEngine
from evals.judging.estimates import CHARS_PER_TOKEN, USUAL_ANSWER_TOKENS, Estimates, size_of
from evals.judging.needs import Span
from evals.judging.planning import Plan, Planner
from evals.judging.prices import ModelPrices, PriceTable
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import Judge
from evals.judging.store import AnswerStore, StoredAnswer
from tests.judging.helpers import MODEL, message_for, request_for

PRICES = PriceTable(
    as_of=date(2026, 11, 30),
    batch_factor=0.5,
    models={MODEL: ModelPrices(input=2.0, output=10.0, cache_read=0.1, cache_write=2.5)},
)
SETTINGS = JudgeSettings(MODEL, "off")
CONTEXT = RunContext("run-1", "0.1.0", None, None, SETTINGS, over_inference_fails=True)
SECOND = "second"


def second(about: str) -> JudgeRequest:
    return request_for(f"after {about}", purpose=SECOND)


@dataclass
class TwoSteps:
    """Asks what it is given; after the first of it, a second question about ``about``."""

    asked: Sequence[JudgeRequest]
    about: str = "x"
    calls: tuple[int, int] = (1, 1)

    @property
    def case_id(self) -> str:
        return self.about

    async def evaluate(self, judge: Judge, context: RunContext) -> Row:
        assert context is CONTEXT
        answered = 0
        for request in self.asked:
            try:
                await judge.ask(request)
            except JudgeError:
                continue
            answered += 1
        if answered == len(self.asked):
            with suppress(JudgeError):
                await judge.ask(second(self.about))
        return cast("Row", None)  # a plan has no use for it

    def follow_ups(self, missing: Collection[str], settings: JudgeSettings) -> tuple[FollowUp, ...]:
        assert missing
        assert settings is SETTINGS
        if SECOND in missing:
            return ()
        least, most = self.calls
        return (FollowUp(second(self.about), least, most, ("premise.pass_1",)),)


PlanOf = Callable[..., Plan]


@pytest.fixture
def store(tmp_path: Path) -> AnswerStore:
    return AnswerStore(tmp_path / "answers.sqlite")


@pytest.fixture
def plan_of(store: AnswerStore, tmp_path: Path) -> PlanOf:
    def make(*cases: Case, prices: PriceTable | None = PRICES) -> Plan:
        async def walked() -> Plan:
            engine = JudgeEngine(store, Recordings(tmp_path / "none"), None)
            planner = Planner(engine, prices)
            try:
                for case in cases:
                    await planner.walk(case, CONTEXT)
            finally:
                await engine.aclose()
            return planner.plan()

        return asyncio.run(walked())

    return make


def put(store: AnswerStore, request: JudgeRequest, **usage: Any) -> None:
    message = message_for("{}", usage=usage or None)
    store.put(StoredAnswer(request.request_hash, message, MODEL, MODEL, None))


def test_what_is_missing_is_counted_once_and_what_follows_within_bounds(plan_of: PlanOf) -> None:
    shared, own = request_for("shared"), request_for("own")
    plan = plan_of(
        TwoSteps([shared], "a"), TwoSteps([shared], "b"), TwoSteps([own], "c", calls=(0, 5))
    )
    (now,) = plan.now
    assert (now.purpose, now.calls) == ("premise.pass_1", Span(2, 2))
    (later,) = plan.later
    # Those that lack the same may turn out to ask the same: one call at least.
    assert (later.purpose, later.calls) == (SECOND, Span(1, 7))
    assert plan.calls == Span(3, 9)
    assert plan.stored == {}


def test_stored_answers_are_counted_and_lead_to_what_is_really_missing(
    plan_of: PlanOf, store: AnswerStore
) -> None:
    first = request_for("a")
    put(store, first)
    plan = plan_of(TwoSteps([first], "a"), TwoSteps([first], "b"))
    assert plan.stored == {"premise.pass_1": 1}
    assert [(each.purpose, each.calls) for each in plan.now] == [(SECOND, Span(2, 2))]
    assert plan.later == ()


def test_a_plan_has_the_estimates_that_the_budget_goes_by(plan_of: PlanOf) -> None:
    request = replace(request_for("a" * 3000), max_tokens=4_000)
    (now,) = plan_of(TwoSteps([request], "b")).now
    estimate = Estimates(PRICES, in_batch=False).of(size_of(request))
    assert now.read_tokens == Span(estimate.read_tokens, estimate.read_tokens)
    usual = USUAL_ANSWER_TOKENS["premise.pass_1"]
    assert estimate.output_tokens == usual
    assert now.output_tokens == Span(usual, usual)
    assert estimate.cost_usd is not None
    assert now.cost_usd == Span(estimate.cost_usd, estimate.cost_usd)
    assert not now.is_learned


def test_a_plan_says_what_the_longest_answers_would_cost(plan_of: PlanOf) -> None:
    request = replace(request_for("a" * 3000), max_tokens=4_000)
    plan = plan_of(TwoSteps([request], "b", calls=(0, 0)))
    (now, later) = plan.lacking
    read = round(len(request.body) / CHARS_PER_TOKEN)
    assert now.ceiling_usd == pytest.approx((read * 2.5 + 4_000 * 10.0) / 1e6)
    assert later.ceiling_usd == 0
    assert plan.ceiling_usd == now.ceiling_usd


def test_stored_answers_to_the_same_prompt_narrow_them(plan_of: PlanOf, store: AnswerStore) -> None:
    seen, request = request_for("b" * 300), request_for("a" * 3000)
    put(store, seen, input_tokens=100, output_tokens=40, cache_read_input_tokens=100)
    (now,) = plan_of(TwoSteps([seen, request])).now
    read = round(len(request.body) * 200 / len(seen.body))
    assert now.read_tokens == Span(read, read)
    assert now.output_tokens == Span(40, 40)
    assert now.cost_usd is not None
    assert now.cost_usd.least == now.cost_usd.most
    assert now.cost_usd.most == pytest.approx((read * 1.05 + 40 * 10.0) / 1e6)
    assert now.is_learned


def test_stored_answers_that_state_no_count_teach_nothing(
    plan_of: PlanOf, store: AnswerStore
) -> None:
    seen, request = request_for("b"), request_for("a")
    put(store, seen)
    (now,) = plan_of(TwoSteps([seen, request])).now
    assert now.output_tokens == Span(request.max_tokens, request.max_tokens)
    assert not now.is_learned


def test_a_later_call_holds_the_answers_that_feed_it(plan_of: PlanOf) -> None:
    first = request_for("a")
    (later,) = plan_of(TwoSteps([first], "b")).later
    rendered = size_of(second("b"))
    without = round(rendered.body_chars / CHARS_PER_TOKEN)
    assert later.read_tokens.least == later.read_tokens.most
    assert later.read_tokens.most == pytest.approx(without + first.max_tokens, abs=1)


@pytest.mark.parametrize("prices", [None, PRICES.model_copy(update={"models": {}})])
def test_without_a_price_there_is_no_cost(prices: PriceTable | None, plan_of: PlanOf) -> None:
    plan = plan_of(TwoSteps([request_for("a")]), prices=prices)
    assert plan.cost_usd is None
    assert plan.now[0].cost_usd is None


def test_nothing_missing_costs_nothing(plan_of: PlanOf, store: AnswerStore) -> None:
    first = request_for("a")
    put(store, first)
    put(store, second("x"))
    plan = plan_of(TwoSteps([first]))
    assert (plan.now, plan.later, plan.calls, plan.cost_usd) == ((), (), Span(0, 0), Span(0, 0))


def test_what_cannot_be_read_ends_the_plan(plan_of: PlanOf, store: AnswerStore) -> None:
    first = request_for("a")
    store.put(StoredAnswer(first.request_hash, "{}", MODEL, MODEL, None))
    with pytest.raises(StoreError):
        plan_of(TwoSteps([first]))

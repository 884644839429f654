"""A budget that is smaller than the run: what it buys comes to verdicts, live and in batches."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import SecretStr

from evals.config import NO_LIMITS, Limits
from evals.coverage.case import coverage_cases
from evals.coverage.prompts import load_coverage_prompts
from evals.defaults import DEFAULT_JUDGE_MODEL, SAMPLE_TRACE
from evals.errors import JudgeError
from evals.judging.amount import Amount
from evals.judging.batch.walk import Walk
from evals.judging.booking import Booking
from evals.judging.budget import Budget
from evals.judging.calls import LiveCalls
from evals.judging.case import FollowUp, Row, RunContext
from evals.judging.engine import JudgeEngine
from evals.judging.estimates import Estimates, size_of
from evals.judging.ledger import Spending
from evals.judging.live import LiveTransport
from evals.judging.needs import needs_of
from evals.judging.prices import ModelPrices, PriceTable, load_prices
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import Judge
from evals.judging.store import AnswerStore
from evals.traces import load_trace
from tests.judging.batch_runs import (
    CONTEXT,
    FIRST,
    KEY,
    POLICY,
    SECOND,
    Looked,
    TwoSteps,
    judge,
    row_of,
    two_steps,
)
from tests.judging.helpers import MODEL, request_for
from tests.messages_api.fixtures import MessagesApi

Way = Literal["live", "batch"]
WAYS: tuple[Way, ...] = ("live", "batch")
CASES = 40
PRICES = PriceTable(
    as_of=date(2026, 11, 30),
    batch_factor=0.5,
    models={MODEL: ModelPrices(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5)},
)


def limits(**changed: Any) -> Limits:
    return NO_LIMITS.model_copy(update=changed)


@dataclass(frozen=True)
class Came:
    """What a run came to."""

    rows: Sequence[Row]
    calls: int
    spending: Spending

    @property
    def verdicts(self) -> int:
        return sum(row.unjudged is None for row in self.rows)

    @property
    def half_judged(self) -> int:
        """Cases that were begun and have no verdict."""
        return sum(row.unjudged is not None and bool(row.calls) for row in self.rows)


def run(way: Way, store: Path, api: MessagesApi, cases: Sequence[TwoSteps], given: Limits) -> Came:
    """Judge all cases side by side with a judge of their own."""
    if way == "batch":
        looked = Looked()
        found = judge(store, api, cases, looked, limits=given, prices=PRICES)
        counts = looked.counts
        return Came(found.rows, counts.calls, counts.spending)

    async def live() -> Came:
        transport = LiveTransport(api_key=SecretStr(KEY), base_url=api.url, max_in_flight=64)
        budget = Budget(given, PRICES)
        calls = LiveCalls(transport, POLICY, 64)
        recordings = Recordings(store.parent / "recordings")
        engine = JudgeEngine(AnswerStore(store), recordings, calls, budget)
        try:
            walks = (engine.walk(case, CONTEXT) for case in cases)
            rows = await asyncio.wait_for(asyncio.gather(*walks), 120)
        finally:
            await engine.aclose()
        assert budget.waiting == 0
        return Came([row for row in rows if row is not None], calls.calls, budget.spending)

    return asyncio.run(live())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("most", "verdicts"), [(CASES, CASES // 2), (7, 3), (2, 1), (1, 0)])
def test_half_of_the_calls_buy_half_of_the_verdicts_and_the_odd_call_is_used_too(
    most: int, verdicts: int, way: Way, tmp_path: Path, messages_api: MessagesApi
) -> None:
    given = limits(max_calls=most)
    came = run(way, tmp_path / "s.sqlite", messages_api, two_steps(CASES), given)
    assert came.verdicts == verdicts
    assert came.calls == came.spending.answers == most
    assert came.half_judged == most % 2
    assert came.spending.ran_out == f"--max-calls {most}: {most} sent"
    unjudged = [row.unjudged for row in came.rows if row.unjudged is not None]
    assert {each.reason for each in unjudged} == {"budget"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["tokens", "cost"])
def test_half_of_the_tokens_or_dollars_buy_about_half_of_the_verdicts(
    what: str, way: Way, tmp_path: Path, messages_api: MessagesApi
) -> None:
    whole = run(way, tmp_path / "whole.sqlite", messages_api, two_steps(CASES), NO_LIMITS)
    assert whole.verdicts == CASES
    assert whole.spending.cost_usd is not None
    tokens, cost_usd = whole.spending.tokens.all // 2, whole.spending.cost_usd / 2
    given = limits(max_tokens=tokens) if what == "tokens" else limits(max_cost_usd=cost_usd)
    came = run(way, tmp_path / "half.sqlite", messages_api, two_steps(CASES), given)
    # Short of half by what the last case that found no room has used of it.
    assert CASES / 2 - 2 <= came.verdicts <= CASES / 2
    assert came.half_judged <= 1
    assert came.spending.cost_usd is not None
    used = (
        came.spending.tokens.all / tokens if what == "tokens" else came.spending.cost_usd / cost_usd
    )
    assert 0.9 < used <= 1.01
    assert came.spending.ran_out is not None


@pytest.mark.parametrize("way", WAYS)
def test_a_budget_for_all_of_it_buys_all_of_it(
    way: Way, tmp_path: Path, messages_api: MessagesApi
) -> None:
    given = limits(max_calls=2 * CASES)
    came = run(way, tmp_path / "s.sqlite", messages_api, two_steps(CASES), given)
    assert (came.verdicts, came.calls, came.spending.ran_out) == (CASES, 2 * CASES, None)


@pytest.mark.parametrize("way", WAYS)
def test_cases_that_ask_the_same_need_room_for_it_once(
    way: Way, tmp_path: Path, messages_api: MessagesApi
) -> None:
    cases = [TwoSteps("the same") for _ in range(5)]
    came = run(way, tmp_path / "s.sqlite", messages_api, cases, limits(max_calls=2))
    assert (came.verdicts, came.calls) == (5, 2)


@pytest.mark.parametrize("way", WAYS)
def test_a_larger_budget_goes_on_where_the_smaller_one_stopped(
    way: Way, tmp_path: Path, messages_api: MessagesApi
) -> None:
    store, cases = tmp_path / "s.sqlite", two_steps(10)
    assert run(way, store, messages_api, cases, limits(max_calls=9)).verdicts == 4
    rest = run(way, store, messages_api, cases, limits(max_calls=11))
    assert (rest.verdicts, rest.calls, rest.spending.ran_out) == (10, 11, None)


@dataclass(frozen=True, eq=False)
class MayAskMore(TwoSteps):
    """May ask five more after the first, and asks none of them."""

    async def evaluate(self, judge: Judge, context: RunContext) -> Row:
        with suppress(JudgeError):
            answer = await judge.ask(request_for(self.case_id))
            return row_of(self.case_id, context, [answer.call], None)
        return await super().evaluate(judge, context)

    def follow_ups(
        self,
        missing: Collection[str],
        settings: JudgeSettings,  # noqa: ARG002  the form of a case
    ) -> tuple[FollowUp, ...]:
        if FIRST not in missing:
            return ()
        return (FollowUp(request_for("more", purpose=SECOND), 0, 5, fed_by=(FIRST,)),)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_case_did_not_need_after_all_is_had_by_others(
    way: Way, tmp_path: Path, messages_api: MessagesApi
) -> None:
    cases = [MayAskMore(f"case {number}") for number in range(20)]
    came = run(way, tmp_path / "s.sqlite", messages_api, cases, limits(max_calls=20))
    assert (came.verdicts, came.calls) == (20, 20)


class FirstStep:
    """Finds no answer, and notes what was asked."""

    def __init__(self) -> None:
        self.asked: list[JudgeRequest] = []

    def __call__(self, request: JudgeRequest) -> None:
        self.asked.append(request)


def test_ten_cents_let_a_real_window_begin_though_its_longest_answer_would_cost_more() -> None:
    settings = JudgeSettings(DEFAULT_JUDGE_MODEL, "off")
    context = RunContext("run-1", "0", None, None, settings, over_inference_fails=True)
    windows = load_trace(
        SAMPLE_TRACE, trace_format=None, skip_bad_records=False, dataset_shape=None
    ).windows
    case = coverage_cases(windows, load_coverage_prompts())[0]
    first = FirstStep()

    async def walk() -> Row | None:
        return await Walk(first).evaluate(case, context)

    assert asyncio.run(walk()) is None
    assert len(first.asked) == 2
    longest = [
        Estimates(load_prices(), in_batch=False).at_most(size_of(each)).cost_usd
        for each in first.asked
    ]
    assert max(usd for usd in longest if usd is not None) > 0.1
    budget = Budget(limits(max_cost_usd=0.1), load_prices())
    booking = budget.begin(needs_of(case, first.asked, settings))
    assert booking is not None
    assert all(budget.enter(each, [booking]) is not None for each in first.asked)


def needs(name: str) -> Any:
    case = TwoSteps(name)
    return needs_of(case, [request_for(name)], CONTEXT.settings)


def test_a_case_that_has_begun_does_not_wait_for_what_others_have_booked() -> None:
    budget = Budget(limits(max_calls=4))
    one, two = budget.begin(needs("a")), budget.begin(needs("b"))
    assert one is not None
    assert two is not None
    assert budget.begin(needs("c")) is not None  # it may use what is left, and nothing is
    assert budget.begin(needs("d")) is None
    for name, booking in (("a", one), ("b", two)):
        for request in (request_for(name), request_for(f"{name}, 2", purpose=SECOND)):
            place = budget.enter(request, [booking])
            assert place is not None
            place.sent()
            place.close()


def test_what_is_left_is_for_one_case_at_a_time_and_it_waits_for_those_that_have_begun() -> None:
    budget = Budget(limits(max_calls=3))
    whole, single = budget.begin(needs("a")), budget.begin(needs("b"))
    assert whole is not None
    assert single is not None
    assert (whole.is_whole, single.is_whole) == (True, False)
    assert not budget.takes_cases()
    first = budget.enter(request_for("b"), [single])
    assert first is not None
    first.sent()
    second = request_for("b, 2", purpose=SECOND)
    assert budget.enter(second, [single]) is None
    budget.end(whole)  # it needed nothing after all
    assert budget.enter(second, [single]) is not None
    assert single.is_whole


@pytest.mark.parametrize("ahead", [(), ("ahead of it",)])
def test_a_call_that_waits_for_room_goes_once_a_case_that_has_begun_asks_it_too(
    ahead: Sequence[str],
) -> None:
    async def test() -> None:
        budget = Budget(limits(max_calls=3))
        whole, single = budget.begin(needs("a")), budget.begin(needs("b"))
        assert whole is not None
        assert single is not None
        place = budget.enter(request_for("b"), [single])
        assert place is not None
        place.sent()
        place.close()
        askers = [single]

        async def ask(question: str, askers: Sequence[Booking]) -> Amount:
            async with budget.admit(request_for(question, purpose=SECOND), askers) as admission:
                return admission.held

        others = [asyncio.create_task(ask(each, [single])) for each in ahead]
        waits = asyncio.create_task(ask("both", askers))
        await asyncio.sleep(0)
        assert budget.waiting == 1 + len(ahead)
        askers.append(whole)
        budget.stir()
        assert (await asyncio.wait_for(waits, 30)).calls == 1
        budget.end(whole)
        await asyncio.wait_for(asyncio.gather(*others), 30)

    asyncio.run(test())


@pytest.mark.parametrize("is_let_in", [False, True])
def test_the_place_of_a_case_that_nobody_waits_for_any_more_goes_to_the_next(
    *, is_let_in: bool
) -> None:
    async def test() -> None:
        budget = Budget(limits(max_calls=2))
        begun, single = budget.begin(needs("a")), budget.begin(needs("b"))
        assert begun is not None
        assert single is not None

        async def begin(name: str) -> None:
            async with budget.case(needs(name)):
                pass

        first, second = (asyncio.create_task(begin(name)) for name in "cd")
        await asyncio.sleep(0)
        assert budget.waiting == 2
        if is_let_in:
            budget.end(single)
            assert budget.waiting == 1
        first.cancel()
        await asyncio.sleep(0)
        if not is_let_in:
            assert budget.waiting == 1
            budget.end(single)
        await asyncio.wait_for(second, 30)
        assert first.cancelled()

    asyncio.run(test())

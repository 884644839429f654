"""Budgets over the engine: what may be sent, what waits, and what it all came to."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evals.config import NO_LIMITS, Limits
from evals.errors import BudgetError, ExhaustedError, WrongModelError
from evals.judging.budget import Budget
from evals.judging.calls import LiveCalls
from evals.judging.engine import JudgeEngine
from evals.judging.estimates import CHARS_PER_TOKEN, Estimates, size_of
from evals.judging.prices import ModelPrices, PriceTable, TokenCounts, load_prices
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse
from evals.judging.retry import RetryPolicy
from evals.judging.store import AnswerStore, StoredAnswer
from evals.judging.transport import AttemptError
from tests.judging.helpers import (
    MODEL,
    Clock,
    Outcome,
    ScriptedTransport,
    message_for,
    request_for,
    settle,
)

ANSWER = message_for("{}")
TOKENS_AN_ANSWER = 15
"""7 in full, 5 from the cache, 3 written: see ``message_for``."""
PRICES = PriceTable(
    as_of=date(2026, 11, 30),
    batch_factor=0.5,
    models={
        MODEL: ModelPrices(input=2000.0, output=10_000.0, cache_read=200.0, cache_write=2500.0)
    },
)
USD_AN_ANSWER = (7 * 2000 + 5 * 200 + 3 * 10_000) / 1_000_000
"""0.045"""


def limits(**changed: Any) -> Limits:
    return NO_LIMITS.model_copy(update=changed)


def requests(count: int, *, purpose: str = "premise.pass_1") -> list[JudgeRequest]:
    return [request_for(f"conclusion {number:03d}", purpose=purpose) for number in range(count)]


class Bench:
    """An engine with a budget over a scripted transport."""

    def __init__(
        self,
        folder: Path,
        given: Limits,
        *outcomes: Outcome,
        prices: PriceTable | None = PRICES,
        in_batch: bool = False,
    ) -> None:
        self.transport = ScriptedTransport(*(outcomes or (ANSWER,)))
        self.budget = Budget(given, prices, in_batch=in_batch)
        clock = Clock()
        live = LiveCalls(self.transport, RetryPolicy(3, 60), 64, sleep=clock.sleep, clock=clock)
        self.store = AnswerStore(folder / "answers.sqlite")
        self.engine = JudgeEngine(self.store, Recordings(folder / "none"), live, self.budget)

    @property
    def sent(self) -> int:
        return len(self.transport.sent)

    def run(self, test: Callable[[JudgeEngine], Coroutine[Any, Any, Any]]) -> Any:
        async def whole() -> Any:
            try:
                return await asyncio.wait_for(test(self.engine), 30)
            finally:
                await self.engine.aclose()

        return asyncio.run(whole())

    def ask_at_once(self, asked: Sequence[JudgeRequest]) -> list[JudgeResponse | BaseException]:
        async def test(engine: JudgeEngine) -> Any:
            return await asyncio.gather(*map(engine.ask, asked), return_exceptions=True)

        answers: list[JudgeResponse | BaseException] = self.run(test)
        return answers

    def ask_in_turn(self, *asked: JudgeRequest) -> list[JudgeResponse | BaseException]:
        async def test(engine: JudgeEngine) -> Any:
            return [
                (await asyncio.gather(engine.ask(each), return_exceptions=True))[0]
                for each in asked
            ]

        answers: list[JudgeResponse | BaseException] = self.run(test)
        return answers


def answered(found: Sequence[JudgeResponse | BaseException]) -> int:
    refused = [each for each in found if not isinstance(each, JudgeResponse)]
    assert all(isinstance(each, BudgetError) for each in refused), refused
    return len(found) - len(refused)


@pytest.mark.parametrize("most", [0, 1, 7, 50, 51])
def test_never_more_calls_are_sent_than_allowed_however_many_are_in_flight(
    most: int, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, limits(max_calls=most))
    found = bench.ask_at_once(requests(50))
    assert answered(found) == bench.sent == min(most, 50)
    assert bench.engine.counts.calls == min(most, 50)


def test_what_is_refused_says_what_was_used_and_what_to_do(tmp_path: Path) -> None:
    bench = Bench(tmp_path, limits(max_calls=1))
    first, second, third = bench.ask_in_turn(*requests(3))
    assert isinstance(first, JudgeResponse)
    assert isinstance(second, BudgetError)
    assert second.reason == "budget"
    assert "without room for it (--max-calls 1: 1 sent)" in str(second)
    assert "larger budget: --plan says what" in second.todo
    assert isinstance(third, BudgetError)
    assert bench.engine.counts.spending.ran_out == "--max-calls 1: 1 sent"


def test_stored_answers_need_no_budget_not_even_one_that_has_run_out(tmp_path: Path) -> None:
    asked = requests(3)
    bench = Bench(tmp_path, limits(max_calls=1))
    bench.store.put(StoredAnswer(asked[2].request_hash, ANSWER, MODEL, MODEL, None))
    found = bench.ask_in_turn(*asked)
    assert [isinstance(each, JudgeResponse) for each in found] == [True, False, True]
    assert bench.budget.spending.answers == 1


def test_a_larger_budget_goes_on_where_the_smaller_one_stopped(tmp_path: Path) -> None:
    asked = requests(10)
    assert answered(Bench(tmp_path, limits(max_calls=4)).ask_at_once(asked)) == 4
    second = Bench(tmp_path, limits(max_calls=6))
    assert answered(second.ask_at_once(asked)) == 10
    assert second.sent == 6


def test_equal_requests_and_further_attempts_are_one_call(tmp_path: Path) -> None:
    busy = AttemptError("busy", "retry")
    bench = Bench(tmp_path, limits(max_calls=1), busy, busy, ANSWER)
    found = bench.ask_at_once([*requests(1), *requests(1)])
    assert answered(found) == 2
    assert (bench.sent, bench.engine.counts.calls) == (3, 1)


def test_a_call_that_fails_for_good_counts_as_sent_and_holds_nothing_more(tmp_path: Path) -> None:
    dead = AttemptError("no", "give_up")
    bench = Bench(tmp_path, limits(max_calls=2, max_tokens=10_000), dead, ANSWER)
    first, second, third = bench.ask_in_turn(*requests(3))
    assert isinstance(first, ExhaustedError)
    assert isinstance(second, JudgeResponse)
    assert isinstance(third, BudgetError)
    assert bench.budget.spending.tokens.all == TOKENS_AN_ANSWER


def test_what_is_held_back_after_a_refusal_for_the_whole_run_does_not_count_as_sent(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, limits(max_calls=2), AttemptError("no such key", "stop_run"))
    found = bench.ask_in_turn(*requests(4))
    assert [type(each) for each in found] == [ExhaustedError] * 4
    assert bench.sent == 1
    assert bench.budget.spending.ran_out is None


def test_a_call_whose_answer_another_run_stored_meanwhile_is_given_back(tmp_path: Path) -> None:
    asked = requests(3)
    bench = Bench(tmp_path, limits(max_calls=1))

    async def test(engine: JudgeEngine) -> Any:
        first = asyncio.create_task(engine.ask(asked[0]))
        # Looked up already, and not yet at the point of sending.
        await asyncio.sleep(0)
        bench.store.put(StoredAnswer(asked[0].request_hash, ANSWER, MODEL, MODEL, None))
        return await asyncio.gather(first, engine.ask(asked[1]), return_exceptions=True)

    found = bench.run(test)
    assert answered(found) == 2
    assert bench.sent == 1


@pytest.mark.parametrize(("room", "calls"), [(40, 40), (39, 39), (20, 20)])
def test_tokens_set_aside_for_calls_in_flight_make_others_wait_and_not_fail(
    room: int, calls: int, tmp_path: Path
) -> None:
    # At first a call may take its whole limit of 100 tokens beside its input: two fit.
    bench = Bench(tmp_path, limits(max_tokens=room * TOKENS_AN_ANSWER + 1))
    found = bench.ask_at_once(requests(40))
    assert answered(found) == calls
    assert bench.budget.spending.tokens.all == calls * TOKENS_AN_ANSWER


def test_tokens_go_over_by_no_more_than_the_calls_in_flight_exceed_their_estimate(
    tmp_path: Path,
) -> None:
    dear = message_for("{}", usage={"input_tokens": 700, "output_tokens": 300})
    held: list[asyncio.Event] = []

    async def slowly() -> str:
        held.append(asyncio.Event())
        await held[-1].wait()
        return dear

    bench = Bench(tmp_path, limits(max_tokens=1500), slowly)

    async def test(engine: JudgeEngine) -> Any:
        asks = [asyncio.create_task(engine.ask(each)) for each in requests(20)]
        while not all(ask.done() for ask in asks):
            await settle()
            for event in held:
                event.set()
        return await asyncio.gather(*asks, return_exceptions=True)

    found = bench.run(test)
    in_flight_at_first = len(held)
    assert answered(found) == in_flight_at_first < 20
    assert bench.budget.spending.tokens.all == 1000 * in_flight_at_first
    at_first = Estimates(None, in_batch=False).with_margin(size_of(requests(1)[0]))
    set_aside = at_first.read_tokens + at_first.output_tokens
    assert in_flight_at_first == 1500 // set_aside
    exceeded_by = 1000 - set_aside
    assert bench.budget.spending.tokens.all <= 1500 + in_flight_at_first * exceeded_by


def test_the_first_call_is_refused_where_it_alone_may_be_too_much(tmp_path: Path) -> None:
    bench = Bench(tmp_path, limits(max_tokens=100))
    (error,) = bench.ask_at_once(requests(1))
    assert isinstance(error, BudgetError)
    assert bench.sent == 0
    found = re.search(
        r"--max-tokens 100: 0 used, and the next call is estimated at (\d+)", str(error)
    )
    assert found is not None
    assert int(found[1]) == 100 + round(len(requests(1)[0].body) / CHARS_PER_TOKEN)


def test_once_it_has_run_out_nothing_smaller_slips_through(tmp_path: Path) -> None:
    long = request_for("x" * 30_000, purpose="other")
    bench = Bench(tmp_path, limits(max_tokens=5_000))
    first, second, third = bench.ask_in_turn(requests(1)[0], long, requests(2)[1])
    assert isinstance(first, JudgeResponse)
    assert isinstance(second, BudgetError)
    assert isinstance(third, BudgetError)
    assert bench.sent == 1


@pytest.mark.parametrize(("in_batch", "calls"), [(False, 50), (True, 101)])
def test_cost_is_that_of_the_table_and_halved_in_batches(
    *, in_batch: bool, calls: int, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, limits(max_cost_usd=50.6 * USD_AN_ANSWER), in_batch=in_batch)
    assert answered(bench.ask_in_turn(*requests(120))) == calls
    spending = bench.budget.spending
    factor = 0.5 if in_batch else 1.0
    assert spending.cost_usd == pytest.approx(spending.answers * USD_AN_ANSWER * factor)


def test_the_message_of_a_cost_limit_has_the_dollars(tmp_path: Path) -> None:
    bench = Bench(tmp_path, limits(max_cost_usd=1.5))
    *_, last = bench.ask_in_turn(*requests(60))
    assert isinstance(last, BudgetError)
    wanted = r"--max-cost 1\.5: \$1\.4850 spent, and the next call is estimated at \$0\.0450"
    assert re.search(wanted, str(last)), last


def test_every_paid_answer_counts_whether_it_can_be_used_or_not(tmp_path: Path) -> None:
    cut = message_for("{", stop_reason="max_tokens")
    other = message_for("{}", model="claude-other")
    bench = Bench(tmp_path, NO_LIMITS, cut, other)
    first, second = bench.ask_in_turn(*requests(2))
    assert isinstance(first, JudgeResponse)
    assert isinstance(second, WrongModelError)
    spending = bench.budget.spending
    assert (spending.answers, spending.tokens) == (2, TokenCounts(14, 10, 0, 6))
    assert spending.cost_usd is None
    assert spending.cost_unknown_why == "no price for claude-other in pyproject.toml"


@pytest.mark.parametrize(
    ("usage", "prices", "cost", "why"),
    [
        ({"input_tokens": 7, "output_tokens": 3}, PRICES, 0.044, None),
        (
            {
                "input_tokens": 7,
                "output_tokens": 3,
                "cache_read_input_tokens": None,
                "cache_creation_input_tokens": 2,
            },
            PRICES,
            0.049,
            None,
        ),
        (None, PRICES, None, "1 answers without a token count"),
        ({"input_tokens": 7, "output_tokens": 3}, None, None, "no price table was read"),
        (
            {"input_tokens": 7, "output_tokens": 3},
            PRICES.model_copy(update={"models": {}}),
            None,
            f"no price for {MODEL} in pyproject.toml",
        ),
    ],
)
def test_a_cost_that_cannot_be_known_is_none_with_a_reason_and_never_0(
    usage: Any, prices: PriceTable | None, cost: float | None, why: str | None, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, NO_LIMITS, message_for("{}", usage=usage), prices=prices)
    bench.ask_in_turn(*requests(1))
    spending = bench.engine.counts.spending
    assert spending.cost_usd == (None if cost is None else pytest.approx(cost))
    assert spending.cost_unknown_why == why


def test_a_run_that_bought_nothing_cost_nothing(tmp_path: Path) -> None:
    spending = Bench(tmp_path, NO_LIMITS).budget.spending
    assert (spending.cost_usd, spending.cost_unknown_why) == (0.0, None)
    assert spending.prices_as_of == date(2026, 11, 30)


def test_answers_without_a_count_use_up_the_budget_by_their_estimate(tmp_path: Path) -> None:
    bench = Bench(tmp_path, limits(max_tokens=1000), message_for("{}", usage=None))
    assert 1 < answered(bench.ask_in_turn(*requests(20))) < 20


def test_a_place_that_comes_to_nobody_is_given_back(tmp_path: Path) -> None:
    asked = requests(4)
    gate = asyncio.Event()

    async def slowly() -> str:
        await gate.wait()
        return ANSWER

    bench = Bench(tmp_path, limits(max_tokens=350), slowly)

    async def test(engine: JudgeEngine) -> Any:
        first, second, third, last = (asyncio.create_task(engine.ask(each)) for each in asked)
        await settle()
        assert (bench.sent, bench.budget.waiting) == (1, 3)
        second.cancel()
        await settle()
        assert bench.budget.waiting == 2
        gate.set()
        return await asyncio.gather(first, third, last, return_exceptions=True)

    assert answered(bench.run(test)) == 3
    assert bench.sent == 3


def test_what_is_under_way_in_batches_makes_the_cost_unknown_until_it_has_ended() -> None:
    budget = Budget(NO_LIMITS, load_prices(), in_batch=True)
    places = [budget.enter(request_for(text)) for text in ("a", "b")]
    for place in places:
        assert place is not None
        place.sent()
    assert budget.spending.cost_usd is None
    assert budget.spending.cost_unknown_why == (
        "2 calls are in batches that go on, and will be billed"
    )
    for place in places:
        assert place is not None
        place.close()
    assert budget.spending.cost_usd == 0.0


def test_answers_that_are_stored_show_what_others_like_them_will_take(tmp_path: Path) -> None:
    first, second = requests(2)
    assert answered(Bench(tmp_path, NO_LIMITS).ask_in_turn(first)) == 1
    alone = Bench(tmp_path, limits(max_tokens=20))
    assert answered(alone.ask_in_turn(second)) == 0
    after = Bench(tmp_path, limits(max_tokens=20))
    assert answered(after.ask_in_turn(first, second)) == 2
    assert (alone.sent, after.sent) == (0, 1)

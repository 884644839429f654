"""What batch runs say that they sent and bought adds up to what the server took and answered."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from evals.judging.batch.engine import BatchEngine
from evals.judging.engine import EngineCounts
from tests.judging.batch_runs import (
    CONTEXT,
    PRICES,
    Looked,
    TwoSteps,
    batch_engine,
    judge,
    judged,
    two_steps,
)
from tests.messages_api.fixtures import MessagesApi

NEVER = 10**6


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


async def until_sent(engine: BatchEngine, running: asyncio.Task[Any]) -> None:
    """Wait until a judge waits for a batch."""
    while engine.counts.in_flight == 0:
        assert not running.done(), "it came to its end without a batch"
        await asyncio.sleep(0.01)


def broken_off(store: Path, api: MessagesApi, cases: Sequence[TwoSteps]) -> EngineCounts:
    """Judge cases until their first batch is sent, and return what the judge then says."""

    async def run() -> EngineCounts:
        async with batch_engine(store, api, prices=PRICES) as engine:
            running = asyncio.create_task(judged(engine, cases))
            await until_sent(engine, running)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            return engine.counts

    return asyncio.run(run())


def test_what_an_earlier_run_sent_is_bought_by_the_run_that_takes_it_up_and_shown_apart(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(ends_after_polls=NEVER)
    first = broken_off(store, messages_api, two_steps(8))
    assert (first.calls, first.spending.answers, first.spending.taken_up) == (8, 0, 0)
    assert first.spending.cost_usd is None
    messages_api.reset_batches(forget=False)
    second = Looked()
    assert judge(store, messages_api, two_steps(8), second, prices=PRICES).reasons == []
    spending = second.counts.spending
    assert (second.counts.calls, spending.answers, spending.taken_up) == (8, 16, 8)
    whole = Looked()
    other = store.with_name("undisturbed.sqlite")
    judge(other, messages_api, two_steps(8), whole, prices=PRICES)
    assert spending.cost_usd == pytest.approx(whole.counts.spending.cost_usd)
    assert whole.counts.calls == first.calls + second.counts.calls
    assert whole.counts.spending.taken_up == 0


def test_what_two_runs_download_is_counted_by_one_of_them(
    store: Path, messages_api: MessagesApi
) -> None:
    async def begun(engine: BatchEngine) -> asyncio.Task[None]:
        for case in two_steps(60):
            assert await engine.walk(case, CONTEXT) is None
        settling = asyncio.create_task(engine.settle_round())
        await until_sent(engine, settling)
        return settling

    async def run() -> tuple[EngineCounts, EngineCounts]:
        async with (
            batch_engine(store, messages_api) as one,
            batch_engine(store, messages_api) as other,
        ):
            messages_api.reset_batches(ends_after_polls=NEVER)
            settling = [await begun(one), await begun(other)]
            messages_api.reset_batches(forget=False)
            await asyncio.gather(*settling)
            return one.counts, other.counts

    one, other = asyncio.run(run())
    assert (one.calls, other.calls) == (60, 0)
    assert one.spending.answers + other.spending.answers == 60
    assert other.spending.taken_up == other.spending.answers
    assert one.answers == other.answers == {"batch": 60}


def test_both_submissions_of_a_batch_that_is_lost_are_counted_and_the_cost_is_unknown(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("poll.http_404:1-3")
    looked = Looked()
    found = judge(store, messages_api, two_steps(5), looked, prices=PRICES)
    assert found.reasons == []
    assert looked.counts.calls == messages_api.batch_counts()["requests"] == 15
    assert looked.counts.retries == 0
    assert looked.counts.spending.answers == 10
    assert looked.counts.spending.cost_usd is None
    assert looked.counts.spending.cost_unknown_why == (
        "5 calls were sent in batches, not answered, and may be billed"
    )


def test_results_that_are_kept_no_longer_are_lost_at_once(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("poll.archived:1-1")
    looked = Looked()
    assert judge(store, messages_api, two_steps(5), looked).reasons == []
    counts = messages_api.batch_counts()
    assert looked.counts.calls == counts["requests"] == 15
    assert counts["exchanges"] == {"submit": 3, "poll": 3, "results": 2}
    assert "results that the server keeps no longer" in looked.status.notes[0]


@pytest.mark.parametrize("fault", ["poll.http_500:1-", "results.http_500:1-"])
def test_a_batch_that_goes_on_unheard_makes_the_cost_unknown_and_the_next_run_counts_it(
    fault: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(fault)
    first, second = Looked(), Looked()
    judge(store, messages_api, two_steps(5), first, prices=PRICES)
    assert (first.counts.calls, first.counts.spending.answers) == (5, 0)
    assert "5 calls" in str(first.counts.spending.cost_unknown_why)
    messages_api.reset_batches(forget=False)
    judge(store, messages_api, two_steps(5), second, prices=PRICES)
    assert (second.counts.calls, second.counts.spending.answers) == (5, 10)
    assert second.counts.spending.taken_up == 5
    assert second.counts.spending.cost_usd is not None


def test_what_the_server_sends_back_unanswered_is_a_retry_and_costs_nothing(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("expired:1-2", "api_error:5-5")
    looked = Looked()
    assert judge(store, messages_api, two_steps(5), looked, prices=PRICES).reasons == []
    assert (looked.counts.calls, looked.counts.retries) == (10, 3)
    assert messages_api.batch_counts()["requests"] == 13
    assert looked.counts.spending.cost_usd is not None

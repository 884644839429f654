"""Broken exchanges with the Batches API lose nothing, and send no request twice."""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evals.config import NO_LIMITS
from evals.judging.batch import api
from evals.judging.batch.engine import BatchEngine
from evals.judging.store import AnswerStore, StoredAnswer
from tests.judging.batch_runs import (
    CONTEXT,
    POLICY,
    Looked,
    TwoSteps,
    batch_engine,
    judge,
    judged,
    open_batches,
    stored,
    two_steps,
)
from tests.judging.helpers import MODEL, message_for, request_for
from tests.messages_api.fixtures import MessagesApi


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


@pytest.mark.parametrize(
    "fault",
    [
        *("submit.http_500:1-2", "submit.http_429:1-4", "submit.http_529:1-4"),
        *("submit.outage:1-2", "submit.lost:1-1", "submit.lost:2-2"),
        *("poll.http_500:1-2", "poll.http_429:1-4", "poll.outage:1-2"),
        *("results.http_500:1-2", "results.http_429:1-1", "results.outage:1-1"),
        *("results.cut_off:1-2", "results.cut_off:2-2"),
    ],
)
def test_what_passes_is_lived_through(fault: str, store: Path, messages_api: MessagesApi) -> None:
    messages_api.reset_batches(fault)
    looked = Looked()
    found = judge(store, messages_api, two_steps(40), looked)
    assert found.reasons == []
    counts = messages_api.batch_counts()
    assert counts["batches"] == 2
    assert counts["requests"] == counts["distinct"] == 80
    assert looked.counts.spending.answers == looked.counts.calls == 80
    assert looked.status.notes == ()
    assert open_batches(store, messages_api) == 0


def test_a_download_that_falls_silent_is_begun_anew(store: Path, messages_api: MessagesApi) -> None:
    messages_api.reset_batches("results.silent:1-1")
    policy = replace(POLICY, attempt_timeout_s=0.5)
    assert judge(store, messages_api, two_steps(20), policy=policy).reasons == []
    assert messages_api.batch_counts()["requests"] == 40


@pytest.mark.parametrize(
    ("fault", "exchange", "words"),
    [
        ("submit.http_400:1-", "submit", "refuses the batch as it stands"),
        ("submit.http_413:1-", "submit", "refuses the batch as it stands"),
        ("submit.http_401:1-", "submit", "ANTHROPIC_API_KEY"),
        ("submit.http_404:1-", "submit", "ANTHROPIC_BASE_URL"),
        ("submit.http_302:1-", "submit", "ANTHROPIC_BASE_URL"),
    ],
)
def test_a_batch_that_is_refused_is_sent_once_and_not_waited_for(
    fault: str, exchange: str, words: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(fault)
    found = judge(store, messages_api, two_steps(5))
    assert found.reasons == ["exhausted"] * 5
    assert all(words in detail for detail in found.details)
    assert messages_api.batch_counts()["exchanges"] == {exchange: 1}
    assert open_batches(store, messages_api) == 0


def test_a_server_that_never_accepts_is_given_up_and_looked_at_first_next_time(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("submit.http_500:1-")
    assert judge(store, messages_api, two_steps(5)).reasons == ["exhausted"] * 5
    # It said 500, and may have accepted all the same.
    assert open_batches(store, messages_api) == 1
    messages_api.reset_batches()
    assert judge(store, messages_api, two_steps(5)).reasons == []
    counts = messages_api.batch_counts()
    assert counts["exchanges"]["list"] == 1
    assert counts["requests"] == counts["distinct"] == 10


def test_a_batch_that_reached_no_server_was_not_sent_and_leaves_nothing_in_doubt(
    store: Path,
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = MessagesApi(closed.getsockname()[1])
    looked = Looked()
    found = judge(store, nobody, two_steps(5), looked)
    assert found.reasons == ["exhausted"] * 5
    assert "the server takes no batch now" in min(found.details)
    assert open_batches(store, nobody) == 0
    assert looked.counts.spending.cost_unknown_why is None


@pytest.mark.parametrize("faults", [("submit.lost:1-",), ("submit.lost:1-1", "list.http_500:1-")])
def test_a_batch_that_was_accepted_unheard_is_found_by_the_next_run(
    faults: Sequence[str], store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(*faults)
    once = replace(POLICY, max_attempts=1)
    policy = once if len(faults) == 1 else POLICY
    lost = judge(store, messages_api, two_steps(5), policy=policy)
    assert lost.reasons == ["exhausted"] * 5
    assert "looked up first" in min(lost.details)
    messages_api.reset_batches(forget=False)
    found = judge(store, messages_api, two_steps(5))
    assert found.reasons == []
    assert messages_api.batch_counts()["requests"] == 5  # those of the second round


def test_while_nobody_says_what_was_accepted_it_is_not_sent_again(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("submit.lost:1-1")
    judge(store, messages_api, two_steps(5), policy=replace(POLICY, max_attempts=1))
    messages_api.reset_batches("list.http_500:1-", forget=False)
    found = judge(store, messages_api, two_steps(5))
    assert found.reasons == ["exhausted"] * 5
    assert messages_api.batch_counts()["exchanges"] == {"list": POLICY.max_attempts}
    assert open_batches(store, messages_api) == 1


def test_batches_of_others_of_the_same_size_are_waited_for_and_do_no_harm(
    tmp_path: Path, store: Path, messages_api: MessagesApi
) -> None:
    # As many requests at the same time, of a run with another store.
    others = [TwoSteps(f"other {number}") for number in range(5)]
    messages_api.reset_batches("submit.lost:1-1")
    judge(store, messages_api, two_steps(5), policy=replace(POLICY, max_attempts=1))
    messages_api.reset_batches(forget=False)
    judge(tmp_path / "other" / "answers.sqlite", messages_api, others)
    messages_api.reset_batches(forget=False)
    looked = Looked()
    found = judge(store, messages_api, two_steps(5), looked)
    assert found.reasons == []
    assert messages_api.batch_counts()["requests"] == 5
    assert any("results of requests that were not in it" in each for each in looked.status.notes)
    assert len(stored(store)) == 10


@pytest.mark.parametrize("fault", ["poll.http_404:1-1", "results.http_404:1-1"])
def test_a_batch_that_is_once_not_found_is_looked_at_again_and_not_paid_for_twice(
    fault: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(fault)
    assert judge(store, messages_api, two_steps(5)).reasons == []
    assert messages_api.batch_counts()["requests"] == 10


def test_a_batch_that_the_server_does_not_know_any_more_is_asked_again(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("poll.http_404:1-3")
    looked = Looked()
    found = judge(store, messages_api, two_steps(5), looked)
    assert found.reasons == []
    assert messages_api.batch_counts()["requests"] == 15
    assert "404" in looked.status.notes[0]
    assert "paid for again" in looked.status.notes[0]


@pytest.mark.parametrize("fault", ["poll.http_500:1-", "results.http_500:1-", "poll.http_401:1-"])
def test_a_batch_that_cannot_be_looked_at_stays_open_for_the_next_run(
    fault: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(fault)
    found = judge(store, messages_api, two_steps(5))
    assert found.reasons == ["exhausted"] * 5
    assert "goes on at the server" in min(found.details)
    assert open_batches(store, messages_api) == 1
    messages_api.reset_batches(forget=False)
    assert judge(store, messages_api, two_steps(5)).reasons == []
    assert messages_api.batch_counts()["requests"] == 5


async def _cancelled_while_waiting(
    engine: BatchEngine, cases: Sequence[TwoSteps], messages_api: MessagesApi
) -> None:
    running = asyncio.create_task(judged(engine, cases))
    while messages_api.batch_counts()["batches"] == 0:
        assert not running.done(), "it came to its end without a batch"
        await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


def test_a_run_that_ends_while_it_waits_is_taken_up_by_the_next(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(ends_after_polls=10**6)

    async def first() -> None:
        async with batch_engine(store, messages_api) as engine:
            await _cancelled_while_waiting(engine, two_steps(8), messages_api)

    asyncio.run(first())
    assert open_batches(store, messages_api) == 1
    messages_api.reset_batches(forget=False)
    looked = Looked()
    found = judge(store, messages_api, two_steps(8), looked)
    assert found.reasons == []
    assert messages_api.batch_counts()["requests"] == 8  # of the second round
    assert looked.counts.spending.answers == 16
    assert looked.counts.calls == 8
    assert {call.source for row in found.rows for call in row.calls} == {"batch"}


def test_a_batch_of_other_requests_is_not_waited_for(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(ends_after_polls=10**6)

    async def first() -> None:
        async with batch_engine(store, messages_api) as engine:
            await _cancelled_while_waiting(engine, [TwoSteps("another")], messages_api)

    asyncio.run(first())
    messages_api.reset_batches(forget=False)
    assert judge(store, messages_api, two_steps(3)).reasons == []
    assert open_batches(store, messages_api) == 1


def test_a_batch_of_another_server_is_none_of_this_one(
    store: Path, messages_api: MessagesApi
) -> None:
    opened = AnswerStore(store)
    key = request_for("case 1").request_hash
    submission = opened.begin_batch("https://elsewhere.example", MODEL, [key], datetime.now(UTC))
    opened.name_batch(submission, "msgbatch_elsewhere")
    opened.close()
    assert judge(store, messages_api, two_steps(1)).reasons == []
    assert messages_api.batch_counts()["requests"] == 2


def test_a_round_goes_in_as_many_batches_as_the_limits_ask(
    store: Path, messages_api: MessagesApi
) -> None:
    async def run(max_requests: int, max_bytes: int) -> int:
        messages_api.reset_batches()
        path = store.with_name(f"{max_requests}-{max_bytes}.sqlite")
        async with batch_engine(
            path, messages_api, max_requests=max_requests, max_bytes=max_bytes
        ) as engine:
            assert (await judged(engine, two_steps(10))).reasons == []
        counts = messages_api.batch_counts()
        assert counts["requests"] == counts["distinct"] == 20
        return int(counts["batches"])

    one_request = len(request_for("case 1").body)
    assert asyncio.run(run(4, 10**9)) == 6
    assert asyncio.run(run(10, 10**9)) == 2
    assert asyncio.run(run(10**5, 5 * one_request)) in range(4, 9)
    assert asyncio.run(run(10**5, 1)) == 20  # each by itself: the server decides


def test_what_the_server_takes_no_more_of_goes_in_the_next_round(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("submit.http_429:3-4")
    policy = replace(POLICY, outage_s=0.0)

    async def run() -> None:
        async with batch_engine(store, messages_api, policy=policy, max_requests=3) as engine:
            assert (await judged(engine, two_steps(12))).reasons == []
            assert engine.counts.calls == engine.counts.spending.answers == 24

    asyncio.run(run())
    counts = messages_api.batch_counts()
    assert counts["requests"] == counts["distinct"] == 24


def test_a_batch_that_another_run_is_just_sending_is_left_to_it(
    store: Path, messages_api: MessagesApi
) -> None:
    other = AnswerStore(store)
    key = request_for("case 1").request_hash
    submission = other.begin_batch(messages_api.url, MODEL, [key], datetime.now(UTC))
    assert judge(store, messages_api, two_steps(1)).reasons == []
    other.name_batch(submission, "msgbatch_9999")
    assert [each.batch_id for each in other.open_batches(messages_api.url)] == ["msgbatch_9999"]
    long_ago = datetime.now(UTC) - timedelta(hours=3)
    other.end_batch(submission, long_ago)
    other.begin_batch(messages_api.url, MODEL, [key], long_ago)
    assert judge(store, messages_api, two_steps(1)).reasons == []
    assert other.open_batches(messages_api.url) == ()
    other.close()


def test_an_answer_that_another_run_stores_before_the_round_is_sent_is_taken_and_all_is_counted(
    store: Path, messages_api: MessagesApi
) -> None:
    request = request_for("the same")

    async def run() -> None:
        async with batch_engine(store, messages_api) as engine:
            cases = [TwoSteps("the same"), TwoSteps("another")]
            for case in cases:
                assert await engine.walk(case, CONTEXT) is None
            text = message_for("{}")
            engine.store.put(StoredAnswer(request.request_hash, text, MODEL, MODEL, None))
            found = await judged(engine, cases)
            assert found.reasons == []
            assert found.rows[0].calls[0].source == "store"
            counts = engine.counts
            assert counts.calls == counts.spending.answers == 4

    asyncio.run(run())
    # What was noted already went out, and was paid for; what stood first stands.
    assert messages_api.batch_counts()["requests"] == 4
    assert stored(store)[request.request_hash] == message_for("{}")


def test_a_request_that_several_cases_share_is_sent_once(
    store: Path, messages_api: MessagesApi
) -> None:
    assert judge(store, messages_api, [TwoSteps("the same")]).reasons == []
    messages_api.reset_batches()

    async def run() -> None:
        async with batch_engine(store.with_name("new.sqlite"), messages_api) as engine:
            cases = [TwoSteps("the same") for _ in range(5)]
            await asyncio.gather(*(engine.walk(case, CONTEXT) for case in cases))
            await engine.settle_round()

    asyncio.run(run())
    assert messages_api.batch_counts()["requests"] == 1


def test_a_budget_that_runs_out_sends_no_more_and_loses_nothing(
    store: Path, messages_api: MessagesApi
) -> None:
    looked = Looked()
    limits = NO_LIMITS.model_copy(update={"max_calls": 7})
    found = judge(store, messages_api, two_steps(5), looked, limits=limits)
    assert found.reasons == ["budget"] * 2  # three cases of two calls, and one call over
    assert messages_api.batch_counts()["requests"] == 7
    assert looked.counts.calls == looked.counts.spending.answers == 7
    assert judge(store, messages_api, two_steps(5)).reasons == []
    assert messages_api.batch_counts()["requests"] == 10


def test_a_request_that_is_asked_again_counts_once_against_the_budget(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("expired:1-3")
    limits = NO_LIMITS.model_copy(update={"max_calls": 6})
    assert judge(store, messages_api, two_steps(3), limits=limits).reasons == []
    assert messages_api.batch_counts()["requests"] == 9


def test_what_the_calls_under_way_might_cost_only_puts_others_off(
    store: Path, messages_api: MessagesApi
) -> None:
    # Before an answer is seen each counts as 100 tokens of output, and comes to some 30.
    looked = Looked()
    limits = NO_LIMITS.model_copy(update={"max_tokens": 1500})
    found = judge(store, messages_api, two_steps(8), looked, limits=limits)
    assert found.reasons == []
    assert found.rounds > 2
    assert looked.counts.spending.tokens.all <= 1500
    assert messages_api.batch_counts()["requests"] == 16


def test_results_are_had_where_the_server_says_as_long_as_that_is_at_the_server(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("poll.moved:1-1")
    assert judge(store, messages_api, two_steps(5)).reasons == []
    # Of the second batch it names another host, where the key must not go.
    assert messages_api.batch_counts()["exchanges"] == {
        "submit": 2,
        "poll": 2,
        "moved": 1,
        "results": 1,
    }


def test_a_list_of_batches_that_never_ends_is_left(store: Path, messages_api: MessagesApi) -> None:
    messages_api.reset_batches("submit.lost:1-1", "list.stuck:1-")
    lost = judge(store, messages_api, two_steps(5))
    assert lost.reasons == ["exhausted"] * 5
    assert "does not go on where it was asked to" in min(lost.details)
    assert messages_api.batch_counts()["exchanges"] == {"submit": 1, "list": 4}


def test_a_result_line_without_an_end_is_not_gathered_for_ever(
    store: Path, messages_api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_LONGEST_LINE_BYTES", 100)
    found = judge(store, messages_api, two_steps(2))
    assert found.reasons == ["exhausted"] * 2
    assert "a result line of more than 100 bytes" in min(found.details)
    assert open_batches(store, messages_api) == 1

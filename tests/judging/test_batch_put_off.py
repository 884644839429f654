"""A batch that the server will not take now goes after those under way, and loses no attempt."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from evals.judging.store import AnswerStore
from tests.judging.batch_runs import (
    POLICY,
    Looked,
    TwoSteps,
    batch_engine,
    judge,
    judged,
    open_batches,
    two_steps,
)
from tests.messages_api.fixtures import MessagesApi

AT_ONCE = replace(POLICY, max_attempts=1, outage_s=0.0)
"""One failure, or refusal, ends an exchange, and one result without an answer a request."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


@pytest.mark.parametrize(
    "fault",
    ["submit.http_429:3-4", "submit.http_529:3-4", "submit.http_500:3-4", "submit.lost:3-3"],
)
def test_what_is_refused_while_others_are_under_way_is_sent_after_them(
    fault: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(fault)
    looked = Looked()
    found = judge(store, messages_api, two_steps(12), looked, policy=AT_ONCE, max_requests=3)
    assert found.reasons == []
    counts = messages_api.batch_counts()
    assert counts["requests"] == counts["distinct"] == 24
    assert looked.counts.calls == looked.counts.spending.answers == 24
    assert looked.counts.retries == looked.counts.spending.taken_up == 0
    assert {call.attempts for row in found.rows for call in row.calls} == {1}
    assert "a batch of 3 requests was put off" in looked.status.notes[0]
    assert open_batches(store, messages_api) == 0


def test_what_is_refused_when_no_other_is_under_way_any_more_is_given_up(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("submit.http_429:3-")
    found = judge(store, messages_api, two_steps(12), policy=AT_ONCE, max_requests=3)
    assert found.reasons == ["exhausted"] * 12
    assert "the server takes no batch now" in max(found.details)
    assert messages_api.batch_counts()["requests"] == 6
    messages_api.reset_batches(forget=False)
    assert judge(store, messages_api, two_steps(12)).reasons == []
    assert messages_api.batch_counts()["requests"] == 18


def test_a_batch_of_other_requests_is_waited_for_before_it_is_tried_again(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("poll.http_401:1-1")
    judge(store, messages_api, [TwoSteps("another")])
    assert open_batches(store, messages_api) == 1
    messages_api.reset_batches("submit.http_429:1-1", forget=False)
    found = judge(store, messages_api, two_steps(3), policy=AT_ONCE)
    assert found.reasons == []
    assert open_batches(store, messages_api) == 0


def test_a_batch_put_off_in_doubt_is_not_sent_again_while_nobody_says_what_was_accepted(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("submit.lost:2-2", "list.http_500:1-")

    async def run() -> list[str]:
        async with batch_engine(store, messages_api, policy=AT_ONCE, max_requests=3) as engine:
            return (await judged(engine, two_steps(6))).reasons

    assert asyncio.run(run()) == ["exhausted"] * 3
    counts = messages_api.batch_counts()
    assert counts["requests"] == counts["distinct"] == 9
    with_name = AnswerStore(store)
    assert [each.batch_id for each in with_name.open_batches(messages_api.url)] == [None]
    with_name.close()
    messages_api.reset_batches(forget=False)
    assert judge(store, messages_api, two_steps(6)).reasons == []
    assert messages_api.batch_counts()["requests"] == 3

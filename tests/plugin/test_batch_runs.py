"""``--judge batch``: whole runs come to what live runs come to, whatever ends them in between."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from evals.judging.store import AnswerStore
from tests.durability.endings import assert_nothing_left, wait_until
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, Finished, MakeTrace

PREMISE = "evals/premise"
BATCH = ("--judge", "batch", "--batch-poll-s", "0.05")
NEVER = 10**6
"""Looks after which a batch has not ended."""


def results(run: Finished) -> list[dict[str, Any]]:
    """Return the rows without the run's name and where answers came from, by case."""
    found = run.rows
    for row in found:
        del row["provenance"]["run_id"]
        for call in row["calls"]:
            del call["source"], call["attempts"]
    return sorted(found, key=lambda row: (row["instrument"], row["case_id"]))


def totals(run: Finished) -> str:
    """Return every figure of the summary but those about where answers came from."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: kept(each)
                for name, each in value.items()
                if name != "calls_by_source" and not name.startswith("live_")
            }
        return value

    return json.dumps(kept(run.summary), indent=1)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_a_batch_run_of_every_instrument_comes_to_what_a_live_run_comes_to(
    workers: tuple[str, ...],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    arguments = ("evals/", "--traces", str(make_trace(3, 4)))
    live = evaluations.run(*arguments, api=messages_api)
    requests = messages_api.counts()["posts"]
    messages_api.reset()
    evaluations.store = evaluations.folder / "batches.sqlite"
    batch = evaluations.run(*arguments, *BATCH, *workers, api=messages_api)
    assert (batch.code, live.code) == (0, 0), batch.output
    assert results(batch) == results(live)
    assert totals(batch) == totals(live)
    counts = messages_api.batch_counts()
    assert counts["requests"] == counts["distinct"] == requests
    # As many rounds as the longest chain of requests that follow from each other.
    assert counts["batches"] == 3
    assert messages_api.counts()["posts"] == 0
    assert batch.info["calls_sent"] == requests
    assert batch.info["judge_mode"] == "batch"
    assert {call["source"] for row in batch.rows for call in row["calls"]} == {"batch"}


def test_a_batch_run_costs_half_of_a_live_run(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(2, 3)))
    live = evaluations.run(*arguments, api=messages_api)
    evaluations.store = evaluations.folder / "batches.sqlite"
    batch = evaluations.run(*arguments, *BATCH, api=messages_api)
    again = evaluations.run(*arguments, *BATCH, api=messages_api)
    assert batch.info["cost_usd"] == pytest.approx(live.info["cost_usd"] / 2)
    assert again.info["cost_usd"] == 0
    assert messages_api.batch_counts()["batches"] == 2


def test_the_gallery_can_be_judged_in_batches(
    evaluations: Evaluations, messages_api: MessagesApi
) -> None:
    arguments = ("calibration/", "-k", "pass_1")
    live = evaluations.run(*arguments, api=messages_api)
    evaluations.store = evaluations.folder / "batches.sqlite"
    batch = evaluations.run(*arguments, *BATCH, api=messages_api)
    assert batch.code == live.code
    last_lines = [run.output.splitlines()[-1].split(" in ")[0] for run in (batch, live)]
    assert last_lines[0] == last_lines[1]
    assert messages_api.batch_counts()["batches"] == 1


def sent(api: MessagesApi) -> bool:
    """Tell whether a batch was accepted; whether the run has heard of it is another question."""
    return bool(api.batch_counts()["batches"] >= 1)


def looked_at(api: MessagesApi) -> bool:
    return bool("poll" in api.batch_counts()["exchanges"])


def downloading(api: MessagesApi) -> bool:
    return bool("results" in api.batch_counts()["exchanges"])


@pytest.mark.parametrize(
    ("faults", "polls", "reached", "workers"),
    [
        ((), NEVER, sent, ("-n", "2")),
        (("results.silent:1-1",), 0, downloading, ()),
        (("submit.lost:1-1", "list.outage:1-"), 0, sent, ()),
    ],
    ids=["sent, two workers", "half downloaded", "answer lost"],
)
def test_after_a_sigkill_no_request_is_sent_twice(
    faults: tuple[str, ...],
    polls: int,
    reached: Callable[[MessagesApi], bool],
    workers: tuple[str, ...],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(4, 10)), *BATCH)
    messages_api.reset_batches(*faults, ends_after_polls=polls)
    process, run_dir = evaluations.start(*arguments, *workers, api=messages_api)
    wait_until(process, lambda: reached(messages_api))
    os.kill(process.pid, signal.SIGKILL)
    killed = evaluations.end(process, run_dir)
    assert killed.code == -signal.SIGKILL
    assert_nothing_left(process)
    messages_api.reset_batches(forget=False)
    run = evaluations.run(*arguments, api=messages_api)
    assert run.code == 0, run.output
    assert messages_api.batch_counts()["requests"] == 40  # the second pass
    evaluations.store = evaluations.folder / "undisturbed.sqlite"
    whole = evaluations.run(*arguments, api=messages_api)
    assert results(run) == results(whole)
    assert totals(run) == totals(whole)


def test_after_a_sigkill_in_the_second_round_no_request_is_sent_twice(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(4, 10)))
    slow = ("--judge", "batch", "--batch-poll-s", "2")
    process, run_dir = evaluations.start(*arguments, *slow, api=messages_api)
    wait_until(process, lambda: bool(messages_api.batch_counts()["batches"] == 2))
    os.kill(process.pid, signal.SIGKILL)
    evaluations.end(process, run_dir)
    assert_nothing_left(process)
    run = evaluations.run(*arguments, *BATCH, api=messages_api)
    assert run.code == 0, run.output
    counts = messages_api.batch_counts()
    assert counts["requests"] == counts["distinct"] == 84


def to_all(process: subprocess.Popen[str], number: int) -> None:
    os.killpg(process.pid, number)


def to_the_controller(process: subprocess.Popen[str], number: int) -> None:
    os.kill(process.pid, number)


@pytest.mark.parametrize(
    ("send", "number"), [(to_all, signal.SIGINT), (to_the_controller, signal.SIGTERM)]
)
def test_a_run_that_is_told_to_end_while_it_waits_says_what_goes_on(
    send: Callable[[subprocess.Popen[str], int], None],
    number: int,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(1, 4)), *BATCH)
    messages_api.reset_batches(ends_after_polls=NEVER)
    process, run_dir = evaluations.start(*arguments, api=messages_api)
    wait_until(process, lambda: looked_at(messages_api))
    send(process, number)
    ended = evaluations.end(process, run_dir)
    assert ended.code == 2, ended.output
    assert_nothing_left(process)
    said = " ".join(ended.output.split())
    assert "1 batch goes on at the server with 5 requests: msgbatch_0001." in said
    assert ended.info["complete"] is False
    with closing(AnswerStore(evaluations.store)) as store:
        assert [each.batch_id for each in store.open_batches(messages_api.url)] == ["msgbatch_0001"]
    assert "5 calls are in batches that go on" in ended.info["cost_unknown_why"]
    planned = evaluations.run(*arguments[:3], "--judge", "live", "--plan", api=messages_api)
    assert "5 requests are in Message Batches that go on" in " ".join(planned.output.split())
    messages_api.reset_batches(forget=False)
    rest = evaluations.run(*arguments, api=messages_api)
    assert rest.code == 0
    assert messages_api.batch_counts()["requests"] == 4
    # Both runs together sent and bought what the server took and answered.
    assert (ended.info["calls_sent"], ended.info["answers_bought"]) == (5, 0)
    assert (rest.info["calls_sent"], rest.info["answers_bought"]) == (4, 9)
    assert (ended.info["calls_taken_up"], rest.info["calls_taken_up"]) == (0, 5)
    assert "4 calls and the answers to 5 of an earlier run" in " ".join(rest.output.split())


def test_two_runs_at_once_on_one_store_both_come_to_the_right_end(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(2, 5)), *BATCH)
    started = [evaluations.start(*arguments, api=messages_api) for _ in range(2)]
    one, other = [evaluations.end(*each) for each in started]
    assert (one.code, other.code) == (0, 0), one.output + other.output
    assert results(one) == results(other)
    # At worst each sends what the other is about to send.
    assert messages_api.batch_counts()["distinct"] == 22
    assert messages_api.batch_counts()["requests"] <= 44
    messages_api.reset_batches(forget=False)
    assert evaluations.run(*arguments, api=messages_api).code == 0
    assert messages_api.batch_counts()["exchanges"] == {}


def test_another_model_than_the_pinned_one_stops_the_run(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("other_model:3-3")
    trace = str(make_trace(2, 3))
    run = evaluations.run(PREMISE, "--traces", trace, *BATCH, api=messages_api)
    assert run.code == 1, run.output
    assert "WrongModelError" in run.output
    assert messages_api.batch_counts()["batches"] == 1


def test_what_no_batch_answers_is_unjudged_and_told(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("invalid:1-", "stranger:1-")
    trace = str(make_trace(1, 3))
    run = evaluations.run(PREMISE, "--traces", trace, *BATCH, api=messages_api)
    assert run.code == 1, run.output
    assert run.summary["premise"]["unjudged_by_reason"] == {"exhausted": 3}
    assert run.summary["premise"]["pass_rate"]["value"] is None
    assert "4 unanswered: invalid_request_error: max_tokens: too many" in run.output


def test_a_budget_holds_for_batches_too(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(2, 3)), *BATCH)
    run = evaluations.run(*arguments, "--max-calls", "9", api=messages_api)
    assert run.code == 1, run.output
    assert messages_api.batch_counts()["requests"] == 9
    assert run.info["calls_sent"] == 9
    # A window of seven calls is judged whole, and two calls are left over.
    assert run.summary["premise"]["unjudged_by_reason"] == {"budget": 3}
    assert evaluations.run(*arguments, api=messages_api).code == 0
    assert messages_api.batch_counts()["requests"] == 14

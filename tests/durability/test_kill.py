"""SIGKILL at any point, and again in the run that goes on from there: the totals of an undisturbed
run, no answer paid twice but those that were on their way."""

import os
import random
import signal
from functools import partial
from pathlib import Path

import pytest

from evals.runs.load import load_run
from tests.durability.endings import (
    CALLS,
    PREMISE,
    assert_nothing_left,
    figures,
    repeated,
    resume,
    stored,
    verdicts,
    wait_until,
    wait_until_idle,
)
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, Finished

IN_FLIGHT = 8
LATENCY_S = 0.05
POINTS = random.Random(20260604).sample(range(1, CALLS + 1), 20)
"""A point: the server has seen so many calls begin."""
CHAINS = [sorted(POINTS[number::4]) for number in range(4)]
"""Runs on one store, each killed at its point and taken up by the next."""


def have_begun(api: MessagesApi, calls: int) -> bool:
    return bool(api.counts()["posts"] >= calls)


def kill_at_each(
    points: list[int],
    evaluations: Evaluations,
    trace: Path,
    api: MessagesApi,
    undisturbed: Finished,
    *workers: str,
) -> Finished:
    """Kill a run at each point, check what it left, run again; return the run that ends."""
    api.reset(latency_s=LATENCY_S)
    arguments = (PREMISE, "--traces", str(trace), "--max-in-flight", str(IN_FLIGHT), *workers)
    sent, kept = 0, set[str]()
    for kills, point in enumerate(points, start=1):
        process, run_dir = evaluations.start(*arguments, api=api)
        wait_until(process, partial(have_begun, api, max(point, sent + 1)))
        os.kill(process.pid, signal.SIGKILL)
        assert evaluations.end(process, run_dir).code == -signal.SIGKILL
        assert_nothing_left(process)
        wait_until_idle(api)

        killed = load_run(run_dir)
        assert killed.info.complete is False
        assert killed.info.calls_sent is None
        assert len(killed.rows) + killed.cut_rows < killed.info.selected == 60
        found = {row.case_id: row.model_dump(mode="json")["verdict"] for row in killed.conclusions}
        assert found.items() <= verdicts(undisturbed).items()
        before, kept = kept, stored(evaluations.store)
        assert before <= kept
        sent_before, sent = sent, api.counts()["posts"]
        # Nothing that was kept is asked again, and only what was in flight is lost.
        assert 0 < sent - sent_before <= len(kept - before) + IN_FLIGHT
        assert repeated(api) <= IN_FLIGHT * kills

    run = resume(evaluations, trace, api, *arguments[3:])
    assert api.counts()["posts"] - sent == CALLS - len(kept)
    assert repeated(api) <= IN_FLIGHT * len(points)
    assert len(stored(evaluations.store) | kept) == CALLS
    return run


@pytest.mark.parametrize("points", CHAINS, ids=str)
def test_a_run_that_is_killed_again_and_again_goes_on_where_it_was(
    points: list[int],
    evaluations: Evaluations,
    trace: Path,
    messages_api: MessagesApi,
    undisturbed: Finished,
) -> None:
    run = kill_at_each(points, evaluations, trace, messages_api, undisturbed)
    assert figures(run) == figures(undisturbed)
    assert verdicts(run) == verdicts(undisturbed)


def test_a_killed_run_over_two_processes_goes_on_where_it_was_and_leaves_no_worker_behind(
    evaluations: Evaluations, trace: Path, messages_api: MessagesApi, undisturbed: Finished
) -> None:
    points = sorted(random.Random(2).sample(range(1, CALLS + 1), 2))
    run = kill_at_each(points, evaluations, trace, messages_api, undisturbed, "-n", "2")
    assert figures(run) == figures(undisturbed)
    assert verdicts(run) == verdicts(undisturbed)

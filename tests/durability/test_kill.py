"""SIGKILL at any point, then a resume: the totals of an undisturbed run, no answer paid twice but
those that were on their way."""

import os
import random
import signal
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
POINTS = sorted(random.Random(20260604).sample(range(1, CALLS + 1), 20))
"""A point: the server has seen so many calls begin."""


def kill_and_resume(
    evaluations: Evaluations, trace: Path, api: MessagesApi, point: int, *workers: str
) -> Finished:
    """Kill a run, check what it left, and run again."""
    api.reset(latency_s=LATENCY_S)
    limit = ("--max-in-flight", str(IN_FLIGHT))
    process, run_dir = evaluations.start(PREMISE, "--traces", str(trace), *limit, *workers, api=api)
    wait_until(process, lambda: bool(api.counts()["posts"] >= point))
    os.kill(process.pid, signal.SIGKILL)
    assert evaluations.end(process, run_dir).code == -signal.SIGKILL
    assert_nothing_left(process)

    killed = load_run(run_dir)
    assert killed.info.complete is False
    assert len(killed.rows) + killed.cut_rows < killed.info.selected == 60
    kept = stored(evaluations.store)
    assert len(kept) >= point - IN_FLIGHT

    wait_until_idle(api)
    sent = api.counts()["posts"]
    assert sent - len(kept) <= IN_FLIGHT
    run = resume(evaluations, trace, api, *limit, *workers)
    assert api.counts()["posts"] - sent == CALLS - len(kept)
    assert repeated(api) <= IN_FLIGHT
    assert len(stored(evaluations.store) | kept) == CALLS
    return run


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_goes_on_where_it_was(
    point: int,
    evaluations: Evaluations,
    trace: Path,
    messages_api: MessagesApi,
    undisturbed: Finished,
) -> None:
    run = kill_and_resume(evaluations, trace, messages_api, point)
    assert figures(run) == figures(undisturbed)
    assert verdicts(run) == verdicts(undisturbed)


@pytest.mark.parametrize("point", random.Random(2).sample(range(1, CALLS + 1), 2))
def test_a_killed_run_over_two_processes_goes_on_where_it_was_and_leaves_no_worker_behind(
    point: int,
    evaluations: Evaluations,
    trace: Path,
    messages_api: MessagesApi,
    undisturbed: Finished,
) -> None:
    run = kill_and_resume(evaluations, trace, messages_api, point, "-n", "2")
    assert figures(run) == figures(undisturbed)
    assert verdicts(run) == verdicts(undisturbed)

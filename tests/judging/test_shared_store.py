"""Two runs on one store, side by side in processes of their own: nothing is paid for twice."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.durability.endings import repeated, wait_until
from tests.judging.helpers import request_for
from tests.messages_api.fixtures import MessagesApi

ROOT = Path(__file__).parents[2]
QUESTIONS = 40
IN_FLIGHT = 8
SLOW_S = 60.0
"""Latency of calls that are never waited for: far longer than what is done meanwhile."""


class Run:
    """A judge that is open and asks nothing before it is told to."""

    def __init__(self, mode: str, store: Path, api: MessagesApi) -> None:
        settings = {
            "mode": mode,
            "store": str(store),
            "url": api.url,
            "questions": QUESTIONS,
            "in_flight": IN_FLIGHT,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.judging.one_run", json.dumps(settings)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> None:
        """Have it ask; it is ready to."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def sources(self) -> dict[str, int]:
        """Wait for its end; return how many answers it had from where."""
        said, _ = self.process.communicate()
        assert self.process.returncode == 0
        found: dict[str, int] = json.loads(said)
        return found

    def wait_ready(self) -> None:
        """Wait until its judge is open."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


Start = Callable[[str], tuple[Run, Run]]


@pytest.fixture
def start(tmp_path: Path, messages_api: MessagesApi) -> Iterator[Start]:
    runs: list[Run] = []

    def two(mode: str) -> tuple[Run, Run]:
        runs.extend(Run(mode, tmp_path / "answers.sqlite", messages_api) for _ in range(2))
        for run in runs:
            run.wait_ready()
        return runs[0], runs[1]

    yield two
    for run in runs:
        run.kill()


def body_hash(number: int) -> str:
    """Return what the server calls the question of this number."""
    canonical = json.dumps(request_for(f"{number}").params, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def test_two_live_runs_at_once_share_the_work_and_ask_nothing_twice(
    start: Start, messages_api: MessagesApi
) -> None:
    messages_api.reset(latency_s=0.2)
    runs = start("live")
    for run in runs:
        run.begin()
    found = [run.sources() for run in runs]
    assert [sum(each.values()) for each in found] == [QUESTIONS] * 2
    assert sum(each["live"] for each in found) == QUESTIONS
    assert len(messages_api.counts()["answered"]) == QUESTIONS
    assert repeated(messages_api) == 0


def test_what_a_killed_run_was_asking_is_asked_by_the_one_that_waited_for_it(
    start: Start, messages_api: MessagesApi
) -> None:
    messages_api.reset(latency_s=SLOW_S)
    killed, other = start("live")
    killed.begin()
    wait_until(killed.process, lambda: bool(messages_api.counts()["in_flight"] == IN_FLIGHT))
    messages_api.reset(latency_s=0.0)
    other.begin()
    rest = {body_hash(number) for number in range(IN_FLIGHT, QUESTIONS)}
    wait_until(other.process, lambda: len(messages_api.counts()["answered"]) >= len(rest))
    assert set(messages_api.counts()["answered"]) == rest, "it asked what the first was asking"

    killed.kill()
    assert other.sources() == {"live": QUESTIONS}
    assert len(messages_api.counts()["answered"]) == QUESTIONS


def test_two_batch_runs_at_once_send_each_request_once_and_both_wait_for_it(
    start: Start, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(ends_after_polls=3)
    runs = start("batch")
    for run in runs:
        run.begin()
    for run in runs:
        assert sum(run.sources().values()) == 2 * QUESTIONS
    counts = messages_api.batch_counts()
    assert counts["requests"] == counts["distinct"] == 2 * QUESTIONS

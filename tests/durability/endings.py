"""What the tests of killed, stopped and doubled runs look at: store, server counts, processes."""

import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from evals.judging.store import AnswerStore
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, Finished

PREMISE = "evals/premise"
CALLS = 126
"""6 windows with 10 conclusions: two passes a conclusion, minimality once a window."""
_PATIENCE_S = 120
_TOTALS = ("calls", "calls_by_purpose", "input_tokens", "cache_read_tokens", "output_tokens")


def figures(run: Finished) -> dict[str, Any]:
    """Return all figures of a run but where its answers came from, which a resume changes."""
    summary = run.summary
    tokens = summary["premise"]["tokens"]
    summary["premise"]["tokens"] = {name: tokens[name] for name in _TOTALS}
    return summary


def verdicts(run: Finished) -> dict[str, Any]:
    """Return what was found, by case; as many as there are rows."""
    found = {row["case_id"]: row["verdict"] for row in run.rows}
    assert len(found) == len(run.rows), "a case has two rows"
    return found


def stored(store: Path) -> set[str]:
    """Return the hashes of the requests whose answer is in the store."""
    with closing(AnswerStore(store)) as opened:
        return {
            each
            for digit in "0123456789abcdef"
            for second in "0123456789abcdef"
            for each in opened.hashes_starting_with(digit + second)
        }


def repeated(api: MessagesApi) -> int:
    """Return how many whole answers the server gave on top of the first one to each request."""
    return sum(times - 1 for times in api.counts()["answered"].values())


def wait_until(
    process: subprocess.Popen[str], reached: Callable[[], bool], *, whole: str = "the run"
) -> None:
    """Wait for something that ``process`` brings about."""
    last = time.monotonic() + _PATIENCE_S
    while not reached():
        assert process.poll() is None, f"{whole} ended before its time:\n{process.communicate()[0]}"
        assert time.monotonic() < last, f"{whole} did not come so far"
        time.sleep(0.005)


def wait_until_idle(api: MessagesApi) -> None:
    """Wait until the server is done with what a run that is gone had sent."""
    last = time.monotonic() + _PATIENCE_S
    while api.counts()["in_flight"]:
        assert time.monotonic() < last, "the server has calls of a run that is gone"
        time.sleep(0.005)


def group_of(process: subprocess.Popen[str]) -> list[str]:
    """Return the live processes that a run started, itself included, as ``ps`` lists them."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pgid=,pid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    return [
        " ".join(row) for row in rows if row[0] == str(process.pid) and not row[2].startswith("Z")
    ]


def assert_nothing_left(process: subprocess.Popen[str]) -> None:
    """Check that every process of a run that was ended, and may take its time, goes away."""
    last = time.monotonic() + _PATIENCE_S
    while left := group_of(process):
        assert time.monotonic() < last, f"left running: {left}"
        time.sleep(0.02)


def resume(evaluations: Evaluations, trace: Path, api: MessagesApi, *arguments: str) -> Finished:
    """Run again on the same store, under a new run id, to a good end."""
    run = evaluations.run(PREMISE, "--traces", str(trace), *arguments, api=api)
    assert run.code == 0, run.output
    assert run.info["complete"] is True
    return run

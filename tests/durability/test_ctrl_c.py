"""Ctrl-C and SIGTERM: the run ends soon, its record says it is incomplete, nothing is left."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest

from evals.runs.load import load_run
from tests.durability.endings import (
    CALLS,
    PREMISE,
    assert_nothing_left,
    figures,
    resume,
    stored,
    verdicts,
    wait_until,
)
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, Finished

SLOW_S = 60.0
"""Latency of the calls that are in flight when the signal comes: far longer than the run may take
to end, so that a run that waits for them is found out."""
ENDED_WITHIN_S = 40.0
"""Less than SLOW_S. Generous, since machines are shared: about 1 s on two idle cores."""


def to_all(process: Popen[str], number: int) -> None:
    """As a terminal does it: every process in the foreground gets it."""
    os.killpg(process.pid, number)


def to_all_again_and_again(process: Popen[str], number: int) -> None:
    """As somebody does it who cannot wait: some of these come while the record is written."""
    for _ in range(5):
        to_all(process, number)
        time.sleep(0.1)


def to_the_controller(process: Popen[str], number: int) -> None:
    """As ``kill`` does it, or a supervisor."""
    os.kill(process.pid, number)


@pytest.mark.parametrize(
    ("send", "number", "workers"),
    [
        (to_all_again_and_again, signal.SIGINT, ()),
        (to_the_controller, signal.SIGTERM, ()),
        (to_the_controller, signal.SIGINT, ("-n", "2")),
        (to_all, signal.SIGTERM, ("-n", "2")),
    ],
)
def test_a_run_that_is_told_to_end_ends_soon_and_goes_on_where_it_was(
    send: Callable[[Popen[str], int], None],
    number: int,
    workers: tuple[str, ...],
    evaluations: Evaluations,
    trace: Path,
    undisturbed: Finished,
    messages_api: MessagesApi,
) -> None:
    limit = ("--max-in-flight", "8")
    messages_api.reset(latency_s=0.05)
    process, run_dir = evaluations.start(
        PREMISE, "--traces", str(trace), *limit, *workers, api=messages_api
    )
    wait_until(process, lambda: len(messages_api.counts()["answered"]) >= 40)
    messages_api.reset(latency_s=SLOW_S)
    wait_until(process, lambda: bool(messages_api.counts()["in_flight"] == 8))

    send(process, number)
    signalled = evaluations.end(process, run_dir, ENDED_WITHIN_S)
    assert_nothing_left(process)

    output = signalled.output
    # The last of many can come when all is written and Python itself is closing.
    ends = {2, -number} if send is to_all_again_and_again else {2}
    assert signalled.code in ends, output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    assert "incomplete" in output.lower()
    assert signalled.info["complete"] is False
    assert signalled.info["ended_at"] is not None
    # Answers that nobody hears: the server may bill them.
    assert signalled.info["cost_usd"] is None
    if send is not to_all_again_and_again:  # there the judge may have been killed
        assert "calls were cut off in flight" in signalled.info["cost_unknown_why"]
    assert "incomplete" in (run_dir / "report.html").read_text(encoding="utf-8").lower()
    ended = load_run(run_dir)
    assert 0 < len(ended.rows) < 60
    assert ended.cut_rows == 0

    kept = stored(evaluations.store)
    assert len(kept) >= 40
    messages_api.reset()
    run = resume(evaluations, trace, messages_api)
    assert messages_api.counts()["posts"] == CALLS - len(kept)
    before = {row.case_id: row.model_dump(mode="json")["verdict"] for row in ended.conclusions}
    assert verdicts(run) | before == verdicts(run)
    assert figures(run) == figures(undisturbed)


@pytest.mark.parametrize("hook", ["pytest_configure", "pytest_collection_finish"])
def test_a_run_that_is_told_to_end_before_its_first_test_leaves_nothing(
    hook: str, evaluations: Evaluations, trace: Path, messages_api: MessagesApi
) -> None:
    (evaluations.folder / "told_early.py").write_text(
        f"import os, signal\ndef {hook}(): os.kill(os.getpid(), signal.SIGTERM)\n",
        encoding="utf-8",
    )
    process, run_dir = evaluations.start(
        PREMISE, "--traces", str(trace), "-p", "told_early", api=messages_api
    )
    run = evaluations.end(process, run_dir, ENDED_WITHIN_S)
    assert_nothing_left(process)
    assert run.code == 2, run.output
    assert "Traceback" not in run.output
    assert not run_dir.exists()
    assert messages_api.counts()["posts"] == 0

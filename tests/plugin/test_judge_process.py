"""The process that judges, when something happens to it."""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from evals.config import NO_LIMITS, RunConfig
from evals.defaults import RECORDED_JUDGE_MODEL, RECORDINGS_DIR, SAMPLE_TRACE
from evals.errors import JudgeProcessError, StoreError
from evals.judge_process.child import ended
from evals.judge_process.client import JudgeProcess
from evals.judge_process.evaluations import PREMISE
from evals.judge_process.process import start_process
from evals.judge_process.wire import Failed, Start
from evals.judging.case import Row, RunContext
from evals.judging.gist import gist_of
from evals.judging.request import JudgeSettings
from evals.premise.case import premise_cases
from evals.premise.render import load_premise_prompts
from evals.premise.row import ConclusionRow
from evals.traces import load_trace
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, MakeTrace


def judge_of(pid: int) -> int | None:
    """Return the process that judges for the run ``pid``: one of its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    for child in map(int, children):
        if b"judge_process" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    return None


@pytest.fixture
def wait_for_posts(messages_api: MessagesApi) -> "WaitForPosts":
    return WaitForPosts(messages_api)


class WaitForPosts:
    def __init__(self, api: MessagesApi) -> None:
        self._api = api

    def __call__(self, posts: int) -> None:
        for _ in range(3000):
            if self._api.counts()["posts"] >= posts:
                return
            time.sleep(0.01)
        pytest.fail(f"the server never saw {posts} requests")


@pytest.mark.parametrize("xdist", [(), ("-n", "2")], ids=["alone", "with-workers"])
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc to find the process")
def test_a_judge_that_is_killed_stops_the_run_with_one_message_and_loses_no_answer(
    evaluations: Evaluations,
    messages_api: MessagesApi,
    make_trace: MakeTrace,
    wait_for_posts: WaitForPosts,
    xdist: tuple[str, ...],
) -> None:
    trace = str(make_trace(6, 10))
    messages_api.reset(latency_s=0.05)
    arguments = ("evals/premise", "--traces", trace, "--max-in-flight", "4", *xdist)
    process, run_dir = evaluations.start(*arguments, api=messages_api)
    wait_for_posts(40)
    judge = judge_of(process.pid)
    assert judge is not None
    os.kill(judge, signal.SIGKILL)
    killed = evaluations.end(process, run_dir)
    assert killed.code == 1
    assert "JudgeProcessError" in killed.output
    assert "exit code -9" in killed.output
    assert killed.info["complete"] is False
    assert killed.info["cost_usd"] is None
    assert "did not end by itself" in killed.info["cost_unknown_why"]
    assert killed.info["counts_are"] == "at_least"
    assert 0 < killed.info["calls_sent"] <= messages_api.counts()["posts"]
    assert "(at least " in " ".join(killed.output.split())
    assert 0 < len(killed.rows) < 60
    first_half = messages_api.counts()["posts"]
    resumed = evaluations.run(*arguments, api=messages_api)
    assert resumed.code == 0, resumed.output
    assert len(resumed.rows) == 60
    # Two calls a conclusion and one a window; those in flight at the kill are asked again.
    assert messages_api.counts()["posts"] <= 126 + 4
    assert messages_api.counts()["posts"] > first_half


def start_of(store: Path, *suites: str) -> Start:
    # What the judge reads of it, and no more.
    fields: dict[str, Any] = {
        "trace_paths": (SAMPLE_TRACE,),
        "trace_format": None,
        "skip_bad_records": False,
        "dataset_shape": None,
        "judge_mode": "recorded",
        "limits": NO_LIMITS,
        "max_in_flight": 4,
        "store_path": store,
        "recordings_dir": RECORDINGS_DIR,
        "export_dir": None,
        "api_key": None,
    }
    settings = JudgeSettings(RECORDED_JUDGE_MODEL, "off")
    context = RunContext("run-1", "0", None, None, settings, over_inference_fails=True)
    return Start(RunConfig.model_construct(**fields), context, suites)


def judge_with(start: Start) -> JudgeProcess:
    return JudgeProcess(
        start_process(live=False),
        start,
        lambda _, __: None,
    )


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[JudgeProcess]:
    """A judge of the sample in recorded mode, opened."""
    process = judge_with(start_of(tmp_path / "answers.sqlite", PREMISE))
    process.wait_opened()
    yield process
    process.close()


def a_case() -> str:
    catalog = premise_cases(load_trace(SAMPLE_TRACE).windows, load_premise_prompts())
    return f"{PREMISE}::test_conclusion[{catalog[0].case_id}]"


def test_what_comes_back_is_the_row_as_json_and_what_is_known_of_it(judge: JudgeProcess) -> None:
    judge.submit([a_case()])
    gist = judge.delivered(a_case())
    text = judge.row_json(a_case())
    row = ConclusionRow.model_validate_json(text)
    assert row.model_dump_json() == text
    assert gist == gist_of(row)
    assert gist.judged.outcome in {"sound", "unsound"}
    judge.close()
    assert judge.counts is not None
    assert judge.counts.answers == {"recording": 3}


def test_an_item_that_the_judge_does_not_know_is_an_error_and_no_verdict(
    judge: JudgeProcess,
) -> None:
    # As when a trace is changed between the two readings of it.
    unknown = f"{PREMISE}::test_conclusion[w0001/000-gone]"
    judge.submit([unknown, a_case()])
    with pytest.raises(JudgeProcessError, match="no such case"):
        judge.delivered(unknown)
    assert judge.delivered(a_case()).judged.outcome in {"sound", "unsound"}


def test_what_a_closed_judge_has_not_done_is_cancelled(judge: JudgeProcess) -> None:
    judge.close()
    judge.close()
    judge.submit([a_case()])
    with pytest.raises(CancelledError):
        judge.delivered(a_case())


def test_a_store_that_cannot_be_opened_is_told_before_anything_is_judged(tmp_path: Path) -> None:
    judge = judge_with(start_of(tmp_path))  # a folder
    with pytest.raises(StoreError):
        judge.wait_opened()
    judge.close()


def test_ctrl_c_in_the_middle_of_handing_it_items_leaves_nobody_waiting(
    judge: JudgeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge._process.send_signal(signal.SIGSTOP)  # it does not read: the message stops half-way

    def interrupt() -> None:
        while select.select([], [judge._connection], [], 0)[1]:
            time.sleep(0.005)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    keys = [f"{PREMISE}::test_conclusion[{number}]" for number in range(20_000)]
    with pytest.raises(KeyboardInterrupt):
        judge.submit(keys)
    # Where it waited for a process that waits for the rest of the message, it would take so long.
    monkeypatch.setattr("evals.judge_process.client._CLOSE_TIMEOUT_S", 60.0)
    judge.close()
    with pytest.raises(CancelledError):
        judge.delivered(keys[0])
    assert not judge.has_told_all


def stopped_at_work(judge: JudgeProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    judge.submit([a_case()])
    judge.delivered(a_case())
    judge._process.send_signal(signal.SIGSTOP)
    # Where it is waited for as long as usual, the test does not end.
    monkeypatch.setattr("evals.judge_process.client._CLOSE_TIMEOUT_S", 600.0)


def test_a_stopped_judge_is_not_waited_for_after_ctrl_c(
    judge: JudgeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_at_work(judge, monkeypatch)
    judge.close(at_once=True)
    assert not judge.has_told_all


def test_a_judge_that_is_waited_for_can_be_killed_from_a_signals_handler(
    judge: JudgeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_at_work(judge, monkeypatch)
    before = signal.signal(signal.SIGUSR1, lambda *_: judge.kill())
    main_thread = threading.main_thread().ident or 0
    threading.Timer(0.1, lambda: signal.pthread_kill(main_thread, signal.SIGUSR1)).start()
    judge.close()
    signal.signal(signal.SIGUSR1, before)
    assert not judge.has_told_all


def test_ctrl_c_never_reaches_a_judge_not_even_before_it_can_ignore_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    started = start_process(live=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        started.process.send_signal(number)
    started.connection.close()
    assert started.process.wait() == 0
    assert capfd.readouterr() == ("", "")
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGINT, signal.SIGTERM}


def test_a_row_that_cannot_be_told_is_told_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Row) -> str:
        raise ValueError("cannot be written")

    monkeypatch.setattr(ConclusionRow, "model_dump_json", refuse)
    row_type: Any = ConclusionRow
    told = ended("c1", row_type.model_construct())
    assert isinstance(told, Failed)
    assert isinstance(told.error, JudgeProcessError)
    assert "cannot be written" in told.error.found


@pytest.mark.parametrize("half", [b"", b"\x00\x00\x10\x00half a message"])
def test_a_judge_whose_run_died_before_it_began_ends_in_silence(
    half: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    started = start_process(live=False)
    os.write(started.connection.fileno(), half)
    started.connection.close()
    assert started.process.wait() == 0
    assert capfd.readouterr() == ("", "")

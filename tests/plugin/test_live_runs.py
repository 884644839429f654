"""Live runs against a real local server: every call made once, nothing lost, nothing made up."""

import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import KEY, Evaluations, MakeTrace

PREMISE = "evals/premise"


def answered(evaluations: Evaluations) -> int:
    with closing(sqlite3.connect(evaluations.store)) as store:
        return int(store.execute("SELECT count(*) FROM answers").fetchone()[0])


def test_two_hundred_conclusions_cost_two_calls_each_and_one_a_window(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset(latency_s=0.2)
    run = evaluations.run(PREMISE, "--traces", str(make_trace(20, 10)), api=messages_api)
    counts = messages_api.counts()
    assert run.code == 0, run.output
    assert counts["posts"] == len(counts["answered"]) == 2 * 200 + 20
    assert counts["max_in_flight"] == 64
    assert len(run.rows) == run.summary["premise"]["conclusions"] == 200
    assert run.summary["premise"]["tokens"]["calls"] == 420
    assert run.info["complete"] is True
    assert run.info["calls_sent"] == run.info["http_attempts"] == 420
    assert {row["outcome"] for row in run.rows} <= {"sound", "unsound"}
    for row in run.rows:
        assert row["provenance"]["run_id"] == "run-1"
        assert row["provenance"]["deriver_model_id"] == "small-1"


def test_an_unchanged_trace_is_never_paid_for_twice(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(3, 4))
    first = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    messages_api.reset()
    second = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    assert messages_api.counts()["posts"] == 0
    assert [row["verdict"] for row in second.rows] == [row["verdict"] for row in first.rows]
    assert second.summary["premise"]["tokens"]["calls_by_source"] == {"store": 27}


def test_after_a_sigkill_no_answered_call_is_repeated(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(10, 10))
    messages_api.reset(latency_s=0.2)
    process, run_dir = evaluations.start(PREMISE, "--traces", trace, api=messages_api)
    while len(messages_api.counts()["answered"]) < 60:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    killed = evaluations.end(process, run_dir)
    assert killed.code == -signal.SIGKILL
    kept = answered(evaluations)
    assert kept > 0
    messages_api.reset()
    run = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    assert run.code == 0, run.output
    assert messages_api.counts()["posts"] == 210 - kept
    undisturbed = Evaluations(evaluations.folder / "undisturbed")
    undisturbed.folder.mkdir()
    whole = undisturbed.run(PREMISE, "--traces", trace, api=messages_api)
    assert [row["verdict"] for row in run.rows] == [row["verdict"] for row in whole.rows]


def test_unjudged_items_up_to_the_allowed_share_exit_0(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset("refusal:1.0")
    trace = str(make_trace(1, 2))
    run = evaluations.run(PREMISE, "--traces", trace, "--allow-unjudged", "1", api=messages_api)
    assert run.code == 0, run.output


def test_the_key_is_nowhere_on_disk_or_on_the_terminal(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi, tmp_path: Path
) -> None:
    messages_api.reset("http_401:5-")
    junit = tmp_path / "junit.xml"
    run = evaluations.run(
        PREMISE,
        *("--traces", str(make_trace(2, 3)), "-vv", f"--junitxml={junit}"),
        api=messages_api,
    )
    assert KEY not in run.output
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert junit in files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_files_are_readable_for_their_owner_alone(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    run = evaluations.run(PREMISE, "--traces", str(make_trace(1, 1)), api=messages_api)
    written = [evaluations.store, *run.run_dir.iterdir()]
    modes = {path.name: oct(path.stat().st_mode & 0o077) for path in written}
    assert set(modes.values()) == {"0o0"}, modes

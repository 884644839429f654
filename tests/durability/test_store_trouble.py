"""A store that cannot be used, at the start or half-way: one message, no call in vain, no loss."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evals.errors import StoreError
from evals.judging.store import SCHEMA_VERSION, AnswerStore
from evals.runs.load import load_run
from tests.durability.endings import CALLS, PREMISE, resume, stored, wait_until
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, Finished, MakeTrace

LIMIT = ("--max-in-flight", "8")
KEPT = Path(__file__).parents[1] / "judging" / "kept" / "store-schema-1.sql"
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")])


def said_once(run: Finished, words: str) -> bool:
    """Tell whether the run says something once, besides pytest's own one-line summary."""
    lines = run.output.split("short test summary info")[0]
    return " ".join(lines.split()).count(words) == 1


def assert_told(run: Finished, words: str) -> None:
    assert said_once(run, words), run.output
    assert "Traceback" not in run.output, run.output
    assert "INTERNALERROR" not in run.output, run.output


# -- at the start ----------------------------------------------------------------------------


def make_folder(store: Path) -> None:
    store.mkdir()


def make_garbage(store: Path) -> None:
    store.write_bytes(b"\x00\xff no database \n" * 1000)


def make_newer(store: Path) -> None:
    AnswerStore(store).close()
    with closing(sqlite3.connect(store)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


def make_stump(store: Path) -> None:
    AnswerStore(store).close()
    store.write_bytes(store.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("make", "words", "workers"),
    [
        (make_folder, "found a folder; wanted a file", ()),
        (make_garbage, "found file is not a database", ()),
        (make_garbage, "found file is not a database", ("-n", "2")),
        (make_newer, f"found schema version {SCHEMA_VERSION + 1}", ()),
        (make_stump, "wanted a whole answer store", ()),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_usage_error_before_any_call(
    make: Callable[[Path], None],
    words: str,
    workers: tuple[str, ...],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    make(evaluations.store)
    trace = str(make_trace(6, 10))
    run = evaluations.run(PREMISE, "--traces", trace, *workers, api=messages_api)
    assert run.code == 4, run.output
    assert_told(run, words)
    assert messages_api.counts()["posts"] == 0
    assert not run.run_dir.exists()


@pytest.fixture
def bound_by_modes(evaluations: Evaluations) -> Evaluations:
    """Runs for which file modes hold, as they do not for root."""
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may write any file, and there is no setpriv to give that up")
        evaluations.before = (setpriv, "--bounding-set=-dac_override,-dac_read_search")
    return evaluations


def test_a_read_only_store_costs_no_call_and_still_replays(
    bound_by_modes: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    evaluations = bound_by_modes
    judged = make_trace(1, 2)
    resume(evaluations, judged, messages_api)
    evaluations.store.chmod(0o400)
    messages_api.reset()

    new = str(make_trace(6, 10))
    for workers in ((), ("-n", "2")):
        run = evaluations.run(PREMISE, "--traces", new, *workers, api=messages_api)
        assert run.code == 4, run.output
        assert_told(run, "found attempt to write a readonly database")
        assert messages_api.counts()["posts"] == 0

    recorded = ("--judge", "recorded", "--judge-model", "claude-sonnet-5-5")
    replay = evaluations.run(PREMISE, "--traces", str(judged), *recorded, api=messages_api)
    assert replay.code == 0, replay.output
    assert len(replay.rows) == 2


def test_a_store_of_an_older_version_goes_on_being_used(
    paid: Path, evaluations: Evaluations, trace: Path, messages_api: MessagesApi
) -> None:
    with closing(AnswerStore(paid)) as new:
        answers = [new.get(each) for each in stored(paid)]
    paid.unlink()
    with closing(sqlite3.connect(paid)) as old:
        old.executescript(KEPT.read_text(encoding="utf-8"))
        old.executemany(
            "INSERT INTO answers VALUES (?, ?, ?, ?, ?)",
            [
                (one.request_hash, one.message, one.model_asked, one.model_served, None)
                for one in answers[:100]
                if one is not None
            ],
        )
        old.commit()
    resume(evaluations, trace, messages_api)
    assert messages_api.counts()["posts"] == CALLS - 100
    assert {"1" * 64, "2" * 64} < stored(paid)


# -- half-way --------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 kB; skips where none can be made."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=300k,mode=700", "none", str(disk)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system of a few kilobytes cannot be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


FULL_SAYS = {"store": "database or disk is full", "reports": "No space left on device"}
CALLS_ON_DISK = 12 * (2 * 10 + 1)
FULL = pytest.mark.parametrize("full", [("store",), ("reports",), ("store", "reports")])


@pytest.fixture
def run_on_full_disk(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi, small_disk: Path
) -> Callable[..., Path]:
    """Run with ``full`` on the small disk; check what is said and kept, return the trace."""

    def run_it(full: tuple[str, ...], *workers: str) -> Path:
        trace = make_trace(12, 10)
        if "store" in full:
            evaluations.store = small_disk / "answers.sqlite"
        if "reports" in full:
            evaluations.reports = small_disk / "reports"
        messages_api.reset(latency_s=0.02)
        run = evaluations.run(PREMISE, "--traces", str(trace), *LIMIT, *workers, api=messages_api)
        assert run.code == 1, run.output
        told = {what for what, said in FULL_SAYS.items() if said in " ".join(run.output.split())}
        assert told
        assert told == set(full) or len(full) > 1, run.output
        for what in told:
            assert_told(run, FULL_SAYS[what])
        kept = stored(evaluations.store)
        assert 0 < len(kept) < CALLS_ON_DISK
        assert messages_api.counts()["posts"] - len(kept) <= 8
        assert run.info["complete"] is False
        assert load_run(run.run_dir).cut_rows <= 1
        return trace

    return run_it


@FULL
def test_a_disk_that_fills_up_stops_the_calls_and_keeps_what_was_answered(
    full: tuple[str, ...],
    run_on_full_disk: Callable[..., Path],
    evaluations: Evaluations,
    messages_api: MessagesApi,
    small_disk: Path,
) -> None:
    trace = run_on_full_disk(full)
    kept = len(stored(evaluations.store))
    # Space is freed.
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    messages_api.reset()
    resume(evaluations, trace, messages_api)
    assert messages_api.counts()["posts"] == CALLS_ON_DISK - kept


@FULL
def test_a_disk_that_fills_up_stops_the_calls_under_xdist_too(
    full: tuple[str, ...], run_on_full_disk: Callable[..., Path]
) -> None:
    run_on_full_disk(full, "-n", "2")


SHORT_PATIENCE = """
import sqlite3
connect = sqlite3.connect
sqlite3.connect = lambda *args, **options: connect(*args, **options | {"timeout": 1.0})
"""
"""Read by every process of a run as it starts, so that none waits 30 s for a lock."""


@WORKERS
def test_a_store_that_is_locked_half_way_stops_the_calls_and_is_good_afterwards(
    workers: tuple[str, ...],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    (evaluations.folder / "sitecustomize.py").write_text(SHORT_PATIENCE, encoding="utf-8")
    trace = make_trace(6, 10)
    messages_api.reset(latency_s=0.05)
    process, run_dir = evaluations.start(
        PREMISE, "--traces", str(trace), *LIMIT, *workers, api=messages_api
    )
    wait_until(process, lambda: len(messages_api.counts()["answered"]) >= 40)
    with closing(sqlite3.connect(evaluations.store, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        run = evaluations.end(process, run_dir)
    assert run.code == 1, run.output
    assert_told(run, "found locked by another process")
    kept = stored(evaluations.store)
    assert 40 - 8 <= len(kept) < CALLS
    assert messages_api.counts()["posts"] - len(kept) <= 8
    assert run.info["complete"] is False

    messages_api.reset()
    resume(evaluations, trace, messages_api, *workers)
    assert messages_api.counts()["posts"] == CALLS - len(kept)


@WORKERS
def test_a_store_that_is_cut_off_half_way_stops_the_calls_and_is_no_store_afterwards(
    workers: tuple[str, ...],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    trace = str(make_trace(6, 10))
    messages_api.reset(latency_s=0.05)
    process, run_dir = evaluations.start(
        PREMISE, "--traces", trace, *LIMIT, *workers, api=messages_api
    )
    wait_until(process, lambda: len(messages_api.counts()["answered"]) >= 40)
    os.truncate(evaluations.store, 0)
    run = evaluations.end(process, run_dir)
    assert run.code == 1, run.output
    assert_told(run, "it was cut off")
    assert messages_api.counts()["posts"] < CALLS
    assert run.info["complete"] is False
    with pytest.raises(StoreError, match="cut off"):
        AnswerStore(evaluations.store)


CUTS_AT_THE_END = """
import os
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    result = yield
    os.truncate(session.config.getoption("eval_store"), 8192)
    return result
"""


def test_a_store_that_is_cut_off_when_all_is_answered_is_told_once_and_no_success(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    (evaluations.folder / "cuts.py").write_text(CUTS_AT_THE_END, encoding="utf-8")
    trace = str(make_trace(2, 3))
    run = evaluations.run(PREMISE, "-p", "cuts", "--traces", trace, api=messages_api)
    assert run.code == 1, run.output
    assert_told(run, "cut off")
    assert len(run.rows) == 6
    with pytest.raises(StoreError, match="cut off"):
        AnswerStore(evaluations.store)


@WORKERS
def test_a_store_that_is_damaged_inside_is_one_message_and_not_one_an_item(
    workers: tuple[str, ...],
    paid: Path,
    evaluations: Evaluations,
    trace: Path,
    messages_api: MessagesApi,
) -> None:
    content = bytearray(paid.read_bytes())
    for page in range(8192, len(content), 4096):  # the first two: header, first table
        content[page : page + 64] = b"\xa5" * 64
    paid.write_bytes(bytes(content))
    run = evaluations.run(PREMISE, "--traces", str(trace), *workers, api=messages_api)
    assert run.code in {1, 4}, run.output
    assert_told(run, "wanted a whole answer store")
    assert messages_api.counts()["posts"] == 0

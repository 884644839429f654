"""Store files of every schema version there was: read, brought to ours, or refused untouched."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evals.errors import StoreError
from evals.judging.store import SCHEMA_VERSION, AnswerStore, StoredAnswer
from tests.judging.helpers import MODEL, message_for

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "kept"
KEPT_ANSWERS = [
    StoredAnswer(
        "1" * 64,
        '{"type":"message"}',
        "claude-a",
        "claude-a-20260101",
        datetime(2026, 6, 4, 12, 0, 0, 123456, tzinfo=UTC),
    ),
    StoredAnswer("2" * 64, '{"type":"message"}', "claude-a", "claude-a-20260101", None),
]


def kept_store(path: Path, *changes: str, version: int = 1) -> Path:
    """Make the store file that a schema version wrote, in WAL mode as it was."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript((KEPT / f"store-schema-{version}.sql").read_text(encoding="utf-8"))
        db.execute("PRAGMA journal_mode = WAL")
        for change in changes:
            db.execute(change)
        db.commit()
    return path


def tables_of(path: Path) -> dict[str, list[tuple[str, str, int, int]]]:
    """Return name, type, NOT NULL and place in the key of every column, by table."""
    with closing(sqlite3.connect(path)) as db:
        names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: db.execute(
                'SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (name,)
            ).fetchall()
            for (name,) in names
        }


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture(params=range(1, SCHEMA_VERSION + 1))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return kept_store(tmp_path / "kept.sqlite", version=request.param)


@pytest.fixture
def store(old: Path) -> Iterator[AnswerStore]:
    opened = AnswerStore(old)
    yield opened
    opened.close()


def test_a_store_of_any_version_is_brought_to_ours_with_all_that_it_held(
    store: AnswerStore, old: Path
) -> None:
    assert version_of(old) == SCHEMA_VERSION
    assert [store.get("1" * 64), store.get("2" * 64)] == KEPT_ANSWERS
    assert store.get_result("run-1", "premise/a") == '{"outcome": "sound"}'
    assert store.get_state("run-1", "aborted") == "yes"


def test_a_batch_that_was_open_is_still_open(tmp_path: Path) -> None:
    old = kept_store(tmp_path / "kept.sqlite", version=2)
    with closing(AnswerStore(old)) as store:
        (batch,) = store.open_batches("https://judge.example")
        assert (batch.batch_id, batch.model_asked, batch.requests) == ("msgbatch_1", "claude-a", 1)
        assert store.hashes_in_batch(batch.submission) == ("3" * 64,)


def test_a_store_that_was_brought_to_ours_is_as_a_new_one(
    store: AnswerStore, old: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new.sqlite"
    AnswerStore(new).close()
    assert tables_of(old) == tables_of(new)
    assert {"batches", "batch_requests"} < set(tables_of(new))
    answer = StoredAnswer("3" * 64, message_for("x"), MODEL, MODEL, None)
    assert store.put(answer) == answer
    AnswerStore(old).close()  # a second opening finds nothing to do


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_processes_that_open_an_old_store_together_all_get_a_good_one(
    tmp_path: Path, journal: str
) -> None:
    old = kept_store(tmp_path / "kept.sqlite", f"PRAGMA journal_mode = {journal}")
    script = """
import sys
from pathlib import Path
from evals.judging.store import AnswerStore, StoredAnswer
print("ready", flush=True)
sys.stdin.readline()
store = AnswerStore(Path(sys.argv[1]))
assert store.get("1" * 64) is not None
store.put(StoredAnswer(sys.argv[2], "{}", "m", "m", None))
store.close()
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(old), f"new-{number}"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [(process.communicate()[1], process.returncode) for process in processes]
    assert said == [("", 0)] * len(processes)
    assert version_of(old) == SCHEMA_VERSION
    store = AnswerStore(old)
    assert store.hashes_starting_with("new-") == ("new-0", "new-1", "new-2", "new-3")
    assert [store.get("1" * 64), store.get("2" * 64)] == KEPT_ANSWERS
    store.close()


def test_a_move_to_our_schema_that_fails_half_way_leaves_the_old_store(tmp_path: Path) -> None:
    # The second of the new tables is in the way, so that the first was made already.
    old = kept_store(tmp_path / "kept.sqlite", "CREATE TABLE batch_requests (x TEXT)")
    before = tables_of(old)
    with pytest.raises(StoreError, match="batch_requests already exists"):
        AnswerStore(old)
    assert version_of(old) == 1
    assert tables_of(old) == before


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", f"schema version {SCHEMA_VERSION + 1}"),
        ("PRAGMA user_version = 0", "schema version 0"),
        ("PRAGMA application_id = 7", "another program"),
    ],
)
def test_a_newer_schema_or_another_program_is_refused_and_left_as_it_was(
    tmp_path: Path, change: str, found: str
) -> None:
    path = kept_store(tmp_path / "kept.sqlite", change)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=found):
        AnswerStore(path)
    assert path.read_bytes() == before

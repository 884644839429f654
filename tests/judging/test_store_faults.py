"""A store that cannot be read or written says so once, clearly, and keeps what it had."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evals.errors import StoreError
from evals.judging.store import AnswerStore, StoredAnswer
from tests.judging.helpers import MODEL, message_for
from tests.judging.test_store_versions import KEPT_ANSWERS, kept_store, version_of

ROOT = Path(__file__).parents[2]


def answer(key: str, text: str = "x") -> StoredAnswer:
    return StoredAnswer(key, message_for(text), MODEL, MODEL, None)


def refusal(path: Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        AnswerStore(path, busy_timeout_s=0.01)
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two answers, closed."""
    path = tmp_path / "answers.sqlite"
    with closing(AnswerStore(path)) as store:
        store.put_all([answer("a"), answer("b")])
    return path


@pytest.fixture
def bound_by_modes() -> list[str]:
    """What to put before a command so that file modes hold for it, as they do not for root."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root may write any file, and there is no setpriv to give that up")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"]


def in_process(code: str, path: Path, before: list[str]) -> str:
    """Run ``code`` with the store's path as ``path``; what it prints."""
    head = (
        "import sys\nfrom contextlib import closing\nfrom pathlib import Path\n"
        "from evals.errors import StoreError\n"
        "from evals.judging.store import AnswerStore, StoredAnswer\n"
        "path = Path(sys.argv[1])\n"
    )
    run = subprocess.run(
        [*before, sys.executable, "-c", head + code, str(path)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


READS_AND_WRITES = """
with closing(AnswerStore(path)) as store:
    print(store.get("1" * 64).model_asked if len(sys.argv) > 2 else store.get("a").model_asked)
    try:
        store.put(StoredAnswer("c", "{}", "m", "m", None))
    except StoreError as error:
        print(error)
"""
OPENS = """
try:
    AnswerStore(path)
except StoreError as error:
    print(error)
"""


def test_a_read_only_file_is_read_and_says_that_it_cannot_be_written(
    path: Path, bound_by_modes: list[str]
) -> None:
    path.chmod(0o400)
    said = in_process(READS_AND_WRITES, path, bound_by_modes)
    model, error = said.splitlines()
    assert model == MODEL
    assert error.startswith(f"{path}: found attempt to write a readonly database; wanted a file")
    assert "--store" in error


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_read_only_file_of_an_older_schema_is_read_as_it_is(
    tmp_path: Path, bound_by_modes: list[str], journal: str
) -> None:
    path = kept_store(tmp_path / "kept.sqlite", f"PRAGMA journal_mode = {journal}")
    path.chmod(0o400)
    said = in_process(READS_AND_WRITES.replace('"a"', '"1" * 64'), path, bound_by_modes)
    assert said.splitlines()[0] == KEPT_ANSWERS[0].model_asked
    assert "readonly" in said
    assert version_of(path) == 1


def test_a_store_in_a_folder_that_cannot_be_written_is_not_opened(
    path: Path, bound_by_modes: list[str]
) -> None:
    path.parent.chmod(0o500)
    try:
        said = in_process(OPENS, path, bound_by_modes)
    finally:
        path.parent.chmod(0o700)
    assert "Make the file and its folder writable" in said


def test_a_store_cannot_be_made_where_nothing_can_be_written(
    tmp_path: Path, bound_by_modes: list[str]
) -> None:
    tmp_path.chmod(0o500)
    try:
        said = in_process(OPENS, tmp_path / "new" / "answers.sqlite", bound_by_modes)
    finally:
        tmp_path.chmod(0o700)
    assert "Permission denied" in said
    assert "wanted a file that can be made" in said


FILLS_THE_DISK = """
import resource
with closing(AnswerStore(path)) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    done = 0
    try:
        for done in range(1000):
            store.put(StoredAnswer(f"k{done:04d}", "x" * 5000, "m", "m", None))
    except StoreError as error:
        print(done)
        print(error)
    for number in range(done):
        assert store.get(f"k{number:04d}") is not None
    assert store.get(f"k{done:04d}") is None
"""


def test_what_was_stored_before_the_disk_was_full_is_there_and_the_rest_fits_in_later(
    path: Path,
) -> None:
    pytest.importorskip("resource", reason="limits of a process are a matter of POSIX")
    done, error = in_process(FILLS_THE_DISK, path, []).splitlines()
    assert 0 < int(done) < 999
    assert "run again: what is stored is kept" in error
    with closing(AnswerStore(path)) as store:
        assert store.get("a") == answer("a")
        assert all(store.get(f"k{number:04d}") is not None for number in range(int(done)))
        assert store.get(f"k{int(done):04d}") is None
        assert store.put(answer("c")) == answer("c")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.fixture
def holder(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program that writes and does not come to an end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield db


def test_a_store_that_another_process_holds_is_read_and_waited_for_in_vain(
    path: Path, holder: sqlite3.Connection
) -> None:
    with closing(AnswerStore(path, busy_timeout_s=0.05)) as store:
        assert store.get("a") == answer("a")
        with pytest.raises(StoreError, match=r"locked by another process, still after 0\.05 s"):
            store.put(answer("c"))
        holder.execute("COMMIT")
        assert store.put(answer("c")) == answer("c")


def test_a_lock_is_waited_for_in_full_once_and_again_only_after_it_was_let_go(
    path: Path, holder: sqlite3.Connection
) -> None:
    def waits_s(store: AnswerStore) -> float:
        return float(store._pragma("busy_timeout")) / 1000

    with closing(AnswerStore(path, busy_timeout_s=0.05)) as store:
        assert waits_s(store) == 0.05
        for _ in range(2):
            with pytest.raises(StoreError, match="locked"):
                store.put(answer("c"))
            assert waits_s(store) == 0
        holder.execute("COMMIT")
        store.put(answer("c"))
        assert waits_s(store) == 0.05


def test_a_store_that_is_held_cannot_be_brought_to_our_schema(tmp_path: Path) -> None:
    old = kept_store(tmp_path / "kept.sqlite")
    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        assert "locked by another process" in str(refusal(old))
    AnswerStore(old).close()


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, by far " * 100)
    assert "not a database" in str(refusal(path))
    assert path.read_text().startswith("not a database")


def test_a_folder_is_refused_as_one(tmp_path: Path) -> None:
    assert "found a folder; wanted a file" in str(refusal(tmp_path))


def test_a_path_below_a_file_is_refused(path: Path) -> None:
    assert "wanted a file that can be made" in str(refusal(path / "answers.sqlite"))


@pytest.mark.parametrize("kept_bytes", [1, 50, 100, 1000, 4096, 6000])
def test_a_file_that_was_cut_off_is_no_store(path: Path, kept_bytes: int) -> None:
    path.write_bytes(path.read_bytes()[:kept_bytes])
    with pytest.raises(StoreError) as caught, closing(AnswerStore(path)) as store:
        store.get("a")
    assert caught.value.where == str(path)
    assert "Restore it from a copy" in caught.value.todo


def test_damage_inside_a_store_is_an_error_and_never_another_answer(path: Path) -> None:
    with closing(AnswerStore(path)) as store:
        store.put_all(answer(f"{number:03d}", "long " * 200) for number in range(200))
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content) - 64, 4096):
        content[start : start + 64] = b"\xa5" * 64
    path.write_bytes(bytes(content))
    with closing(AnswerStore(path)) as store:
        for number in range(200):
            with pytest.raises(StoreError, match=r"malformed|not a database"):
                store.get(f"{number:03d}")
        with pytest.raises(StoreError, match="wanted a whole answer store"):
            store.put(answer("new"))

"""What stands at a store's path: a link, an empty file, …; and what is done to it meanwhile."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evals.errors import StoreError
from evals.judging.store import AnswerStore, StoredAnswer

NOW = datetime(2026, 6, 4, tzinfo=UTC)
Write = Callable[[AnswerStore], object]
WRITES: dict[str, Write] = {
    "answer": lambda store: store.put(answer("new")),
    "answers": lambda store: store.put_all([answer("new")]),
    "begin batch": lambda store: store.begin_batch("https://x", "m", ["new"], NOW),
    "name batch": lambda store: store.name_batch("submission", "batch"),
    "copy batch": lambda store: store.copy_batch("submission", "batch"),
    "drop batch": lambda store: store.drop_batch("submission"),
    "end batch": lambda store: store.end_batch("submission", NOW),
    "result": lambda store: store.put_result("run", "case", "{}"),
    "state": lambda store: store.set_state("run", "name", "yes"),
    "clear": lambda store: store.clear_results("run"),
    "check": lambda store: store.check(),
}
each_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())


def answer(key: str) -> StoredAnswer:
    return StoredAnswer(key, "x" * 3000, "m", "m", None)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def assert_is_store(path: Path) -> None:
    """Check that a store is there, and its user's alone, with all that lies beside it."""
    with closing(AnswerStore(path)) as store:
        assert store.put(answer("a")) == answer("a")
        beside = {each.name: mode_of(each) for each in path.resolve().parent.iterdir()}
        assert set(beside.values()) == {0o600}, beside
    with closing(AnswerStore(path)) as store:
        assert store.get("a") == answer("a")


# -- before it is opened ---------------------------------------------------------------------


def test_an_empty_file_becomes_a_store_and_private(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.touch(0o644)
    assert_is_store(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_empty_file_becomes_one_store_for_all_who_open_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.touch()
    together = threading.Barrier(8)
    errors: list[BaseException] = []

    def put(number: int) -> None:
        together.wait()
        try:
            with closing(AnswerStore(path)) as store:
                store.put(answer(f"{number}"))
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with closing(AnswerStore(path)) as store:
        assert all(store.get(f"{number}") is not None for number in range(8))


def test_an_empty_file_beside_which_answers_are_left_is_no_new_store(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(AnswerStore(path)) as store:
        store.put(answer("a"))
        left = Path(f"{path}-wal").read_bytes()
    path.write_bytes(b"")
    wal = Path(f"{path}-wal")
    wal.write_bytes(left)
    with pytest.raises(StoreError, match="what is left of a store that was cut off"):
        AnswerStore(path)
    assert (path.read_bytes(), wal.read_bytes()) == (b"", left)


def test_what_a_link_leads_to_is_made_where_it_is_not_there_yet(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "real.sqlite"
    link = tmp_path / "answers.sqlite"
    link.symlink_to(target)
    assert_is_store(link)
    assert link.is_symlink()
    assert mode_of(target) == 0o600
    assert mode_of(target.parent) == mode_of(target.parent.parent) == 0o700


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_pipe(path: Path) -> None:
    os.mkfifo(path, 0o644)


def make_link_to_nothing_in_a_file(path: Path) -> None:
    path.with_name("file").touch()
    path.symlink_to(path.with_name("file") / "answers.sqlite")


@pytest.mark.parametrize("make", [make_loop, make_pipe, make_link_to_nothing_in_a_file])
def test_what_cannot_be_a_store_is_refused_and_left_as_it_was(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "answers.sqlite"
    make(path)
    before = {each: each.lstat().st_mode for each in tmp_path.iterdir()}
    with pytest.raises(StoreError, match=r"answers\.sqlite: found .* wanted a file"):
        AnswerStore(path)
    assert {each: each.lstat().st_mode for each in tmp_path.iterdir()} == before


# -- while it is open ------------------------------------------------------------------------


@each_write
@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
def test_a_store_that_is_taken_away_while_it_is_open_is_written_to_no_more(
    tmp_path: Path, write: Write, *, replaced: bool
) -> None:
    path = tmp_path / "answers.sqlite"
    store = AnswerStore(path)
    path.unlink()
    if replaced:
        AnswerStore(path).close()
    with pytest.raises(StoreError, match="another file, or none"):
        write(store)
    store.close()
    assert path.exists() is replaced


def filled(path: Path, *, merged: bool) -> AnswerStore:
    """Open a store with 50 answers of an earlier run and 50 of this one.

    ``merged``: all of them in the file itself, as after 1,000 pages or so, and not beside it.
    """
    with closing(AnswerStore(path)) as store:
        store.put_all(answer(f"old {number}") for number in range(50))
    store = AnswerStore(path)
    for number in range(50):
        store.put(answer(f"new {number}"))
    if merged:
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.check()
    return store


@pytest.mark.parametrize("merged", [False, True], ids=["beside", "merged"])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.95])
def test_a_store_that_is_cut_off_while_it_is_open_is_no_store_any_more(
    tmp_path: Path, share: float, *, merged: bool
) -> None:
    path = tmp_path / "answers.sqlite"
    store = filled(path, merged=merged)
    other = AnswerStore(path)
    os.truncate(path, int(path.stat().st_size * share))
    for each in (store, store, other):
        with pytest.raises(StoreError, match="it was cut off"):
            each.put(answer("newer"))
    store.close()
    other.close()
    if not (merged and share == 0):
        with pytest.raises(StoreError, match=r"cut off|a whole answer store"):
            AnswerStore(path)


@each_write
def test_nothing_is_written_to_a_store_that_was_cut_off(tmp_path: Path, write: Write) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(filled(path, merged=False)) as store:
        os.truncate(path, 0)
        beside = Path(f"{path}-wal").stat().st_size
        with pytest.raises(StoreError, match="it was cut off"):
            write(store)
        assert (path.stat().st_size, Path(f"{path}-wal").stat().st_size) == (0, beside)


def test_a_store_that_was_cut_off_after_its_last_answer_is_found_out_when_it_is_closed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "answers.sqlite"
    watcher = AnswerStore(path)
    store = filled(path, merged=True)
    os.truncate(path, path.stat().st_size // 2)
    store.close()
    with pytest.raises(StoreError, match="cut off"):
        watcher.check()
    watcher.close()
    with pytest.raises(StoreError, match="cut off"):
        AnswerStore(path)


def test_a_store_that_is_vacuumed_while_it_is_open_is_as_good_as_before(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(filled(path, merged=True)) as store:
        before = path.stat().st_size
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("DELETE FROM answers WHERE request_hash LIKE 'old%'")
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size < before
        store.put(answer("newer"))
    with closing(AnswerStore(path)) as store:
        assert store.get("new 7") == answer("new 7")
        assert store.get("newer") == answer("newer")

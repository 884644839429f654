import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evals.errors import StoreError
from evals.judging.store import AnswerStore, Deliveries, StoredAnswer, same_message
from tests.judging.helpers import MODEL, message_for

ROOT = Path(__file__).parents[2]
Opened = Callable[[Path], AnswerStore]
RECEIVED = datetime(2026, 6, 4, 12, 0, 0, 123456, tzinfo=UTC)


def answer(key: str, text: str = "x", received_at: datetime | None = RECEIVED) -> StoredAnswer:
    return StoredAnswer(key, message_for(text), MODEL, MODEL, received_at)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "answers.sqlite"


@pytest.fixture
def opened() -> Iterator[Callable[[Path], AnswerStore]]:
    stores: list[AnswerStore] = []

    def open_store(path: Path) -> AnswerStore:
        stores.append(AnswerStore(path))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.mark.parametrize("received_at", [RECEIVED, None])
def test_an_answer_comes_back_as_it_was_put(
    opened: Opened, path: Path, received_at: datetime | None
) -> None:
    put = answer("a", 'quote " newline \n snow ☃ \u2028', received_at)
    store = opened(path)
    assert store.get("a") is None
    assert store.put(put) == put
    store.close()
    assert opened(path).get("a") == put


def test_the_first_answer_stays_and_is_what_put_returns(opened: Opened, path: Path) -> None:
    store = opened(path)
    first = store.put(answer("a", "first"))
    assert store.put(answer("a", "second")) == first
    assert store.get("a") == first


def test_many_answers_are_put_all_or_none(opened: Opened, path: Path) -> None:
    store = opened(path)
    bad = StoredAnswer("c", None, MODEL, MODEL, None)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="NOT NULL"):
        store.put_all([answer("a"), bad])
    assert store.get("a") is None
    assert store.put_all([answer("a"), answer("b")]) == 2


def test_many_answers_replace_only_where_that_is_asked_for(opened: Opened, path: Path) -> None:
    store = opened(path)
    store.put(answer("a", "first"))
    assert store.put_all([answer("a", "second")]) == 0
    assert store.get("a") == answer("a", "first")
    assert store.put_all([answer("a", "second")], replace=True) == 1
    assert store.get("a") == answer("a", "second")


def test_hashes_are_found_by_their_beginning_and_wildcards_are_plain_text(
    opened: Opened, path: Path
) -> None:
    store = opened(path)
    store.put_all([answer("ab1"), answer("ab2"), answer("b")])
    assert store.hashes_starting_with("ab") == ("ab1", "ab2")
    assert store.hashes_starting_with("a_") == ()
    assert store.hashes_starting_with("%") == ()


def test_results_and_flags_belong_to_their_run(opened: Opened, path: Path) -> None:
    store = opened(path)
    store.put_result("run-1", "case", '{"n": 1}')
    store.put_result("run-1", "case", '{"n": 2}')
    store.put_result("run-2", "case", '{"n": 3}')
    store.set_state("run-1", "aborted", "yes")
    store.put(answer("a"))
    assert store.get_result("run-1", "case") == '{"n": 2}'
    assert store.get_result("run-1", "other") is None
    assert (store.get_state("run-1", "aborted"), store.get_state("run-2", "aborted")) == (
        "yes",
        None,
    )
    store.clear_results("run-1")
    assert store.get_result("run-1", "case") is None
    assert store.get_state("run-1", "aborted") is None
    assert store.get_result("run-2", "case") == '{"n": 3}'
    assert store.get("a") == answer("a")


def test_a_new_store_is_private_with_all_that_lies_beside_it(opened: Opened, path: Path) -> None:
    store = opened(path)
    store.put(answer("a"))
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert len(modes) == 3
    assert set(modes.values()) == {0o600}


def test_a_folder_that_was_there_keeps_its_mode(opened: Opened, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    opened(tmp_path / "answers.sqlite")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_store_is_in_wal_mode(opened: Opened, path: Path) -> None:
    opened(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_closed_store_says_so(opened: Opened, path: Path) -> None:
    store = opened(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get("a")


def test_one_object_serves_many_threads(opened: Opened, path: Path) -> None:
    store = opened(path)

    def put(thread: int) -> None:
        for number in range(50):
            store.put(answer(f"{thread}-{number}"))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(store.get(f"{t}-{n}") is not None for t in range(8) for n in range(50)) == 400


OTHER_PROCESS = """
import sys
from pathlib import Path
from evals.judging.store import AnswerStore, StoredAnswer
store = AnswerStore(Path(sys.argv[1]))
for number in range(100):
    key = f"{number:03d}"
    stands = store.put(StoredAnswer(key, sys.argv[2], "m", "m", None))
    assert store.get(key) == stands
    store.put_result("run", f"{sys.argv[2]}-{key}", "{}")
"""


def test_processes_create_write_and_read_one_store_together(opened: Opened, path: Path) -> None:
    names = ["one", "two", "three", "four"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, str(path), name],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [
        ("", 0)
    ] * len(names)
    store = opened(path)
    for number in range(100):
        found = store.get(f"{number:03d}")
        assert found is not None
        assert found.message in names
        for name in names:
            assert store.get_result("run", f"{name}-{number:03d}") == "{}"


@pytest.mark.parametrize(
    ("other", "same"), [('{"b": 1, "a": "x"}', True), ('{"a": "x", "b": 2}', False)]
)
def test_messages_are_compared_by_what_they_say(other: str, *, same: bool) -> None:
    assert same_message('{"a": "x", "b": 1}', other) is same


def test_deliveries_opened_alone_share_the_file_with_the_answers(
    opened: Opened, path: Path
) -> None:
    store = opened(path)
    store.put(answer("a"))
    deliveries = Deliveries(path)
    try:
        deliveries.put_result("run", "case", "{}")
        store.set_state("run", "aborted", "yes")
        assert store.get_result("run", "case") == "{}"
        assert deliveries.get_state("run", "aborted") == "yes"
        deliveries.clear_results("run")
    finally:
        deliveries.close()
    assert store.get_result("run", "case") is None
    assert store.get("a") == answer("a")

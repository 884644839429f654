"""Rows wait for their tests in a file; what is known of them is in memory."""

import threading
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from evals.errors import JudgeProcessError
from evals.judge_process import waiting
from evals.judge_process.waiting import WaitingItems
from evals.judging.gist import Gist
from evals.judging.judged import Judged


def gist(name: str) -> Gist:
    judged = Judged(name, "premise", "sound", "run-1", None, "")
    return Gist(judged, window_id="w1", gaps=(), models_served=("judge-1",))


@pytest.fixture
def items(tmp_path: Path) -> WaitingItems:
    return WaitingItems(tmp_path)


@pytest.mark.parametrize("in_memory_bytes", [10, 1_000_000], ids=["on-disk", "in-memory"])
def test_rows_come_back_in_any_order_and_are_gone_once_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory_bytes: int
) -> None:
    monkeypatch.setattr(waiting, "_IN_MEMORY_BYTES", in_memory_bytes)
    items = WaitingItems(tmp_path)
    texts = {f"c{number}": "ä☂" * (number + 1) for number in range(20)}
    assert items.add([*texts, "c3"]) == tuple(texts)
    for key in reversed(texts):
        items.settle(key, gist(key), texts[key])
    for key in sorted(texts):
        assert items.wait(key) == items.done(key) == gist(key)
        assert items.row_json(key) == texts[key]
        items.forget(key)
        assert items.done(key) is None
    assert list(tmp_path.iterdir()) == []


def test_the_file_does_not_grow_where_tests_keep_up(items: WaitingItems) -> None:
    keys = items.add(map(str, range(100)))
    for key in keys:
        items.settle(key, gist(key), "x" * 1_000)
        assert items.row_json(key) == "x" * 1_000
        items.forget(key)
    assert items._file.seek(0, 2) == 0


def test_whoever_waits_is_told_as_soon_as_its_item_is_done(items: WaitingItems) -> None:
    items.add(["a", "b"])
    found: list[Gist] = []
    waits = threading.Thread(target=lambda: found.append(items.wait("a")))
    waits_all = threading.Thread(target=items.wait_all)
    for thread in (waits, waits_all):
        thread.start()
    items.settle("a", gist("a"), "{}")
    waits.join(30)
    assert found == [gist("a")]
    items.fail("b", JudgeProcessError("b", "x", "y", "z"))
    waits_all.join(30)
    assert not waits_all.is_alive()


def test_what_failed_or_was_cancelled_says_so_each_time(items: WaitingItems) -> None:
    items.add(["a", "b", "c"])
    items.fail("a", JudgeProcessError("a", "its end", "y", "z"))
    items.settle("b", gist("b"), "{}")
    assert items.fail_rest(None) == ["c"]
    for _ in range(2):
        with pytest.raises(JudgeProcessError, match="its end"):
            items.wait("a")
        with pytest.raises(CancelledError):
            items.wait("c")
    assert items.wait("b") == gist("b")
    assert [items.done(key) for key in "ac"] == [None, None]
    items.wait_all()


def test_what_stops_the_rest_is_the_error_of_each_of_them(items: WaitingItems) -> None:
    items.add(["a", "b"])
    assert items.fail_rest(JudgeProcessError("judge", "its end", "y", "z")) == ["a", "b"]
    with pytest.raises(JudgeProcessError, match="its end"):
        items.wait("b")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_an_error_that_names_the_place(items: WaitingItems, tmp_path: Path) -> None:
    items.add(["a"])
    with Path("/dev/full").open("wb", buffering=0) as full:
        setattr(items, "_file", full)  # noqa: B010  another kind of file
        with pytest.raises(JudgeProcessError, match="No space left") as caught:
            items.settle("a", gist("a"), "{}")
    assert str(tmp_path) in caught.value.where
    assert items.done("a") is None

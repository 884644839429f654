"""Answers to exported requests, taken in: all of a file that fits, or none of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.errors import ExchangeError, StoreError
from evals.judging.answer_sources import AnswerFiles, BatchResults
from evals.judging.exchange import read_requests
from evals.judging.export import export_requests
from evals.judging.imports import ImportReport, import_answers
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest
from evals.judging.store import AnswerStore
from tests.judging.exported import A, B, C, lines, write_lines
from tests.judging.helpers import MODEL, message_for, request_for


def succeeded(request: JudgeRequest, text: str = "{}", **changed: Any) -> dict[str, Any]:
    message = json.loads(message_for(text, **changed))
    return {
        "custom_id": request.request_hash,
        "result": {"type": "succeeded", "message": message},
    }


def failed(request: JudgeRequest, kind: str) -> dict[str, Any]:
    return {"custom_id": request.request_hash, "result": {"type": kind}}


class Exchange:
    """An export of A, B and C, and targets to import into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests = folder / "export"
        self.store = folder / "answers.sqlite"
        self.recordings = folder / "recordings" / "r.jsonl"
        export_requests([A, B, C], self.requests, as_text=False)

    def results(self, *values: dict[str, Any], into: Path, **more: Any) -> ImportReport:
        path = write_lines(self.folder / "results.jsonl", values)
        return import_answers(self.requests, BatchResults((path,)), into, **more)

    def files(self, files: dict[str, bytes], model: str = MODEL) -> ImportReport:
        folder = self.folder / "answers"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return import_answers(self.requests, AnswerFiles(folder, model), self.store)

    def stored(self, request: JudgeRequest) -> dict[str, Any] | None:
        store = AnswerStore(self.store)
        try:
            found = store.get(request.request_hash)
        finally:
            store.close()
        return None if found is None else json.loads(found.message)


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    return Exchange(tmp_path)


def alter(exchange: Exchange, name: str, number: int, **changed: Any) -> None:
    path = exchange.requests / name
    values = lines(path)
    values[number] |= changed
    write_lines(path, values)


def test_an_altered_request_is_refused_by_name(exchange: Exchange) -> None:
    alter(exchange, "requests.jsonl", 1, params=B.params | {"max_tokens": 101})
    with pytest.raises(ExchangeError, match=f"{B.request_hash}.*another hash"):
        exchange.results(succeeded(A), into=exchange.store)
    assert not exchange.store.exists()


def test_an_altered_repeat_is_refused(exchange: Exchange) -> None:
    alter(exchange, "manifest.jsonl", 0, repeat=1)
    with pytest.raises(ExchangeError, match=A.request_hash):
        read_requests(exchange.requests)


@pytest.mark.parametrize("name", ["requests.jsonl", "manifest.jsonl"])
def test_the_two_files_of_an_export_must_name_the_same_requests(
    exchange: Exchange, name: str
) -> None:
    path = exchange.requests / name
    write_lines(path, lines(path)[:2])
    with pytest.raises(ExchangeError, match=f"{C.request_hash} in only one"):
        read_requests(exchange.requests)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", r"requests\.jsonl:4"),
        ('{"custom_id": "x"}', "params"),
        ('{"custom_id": "x", "params": {}, "more": 1}', "more"),
        (json.dumps({"custom_id": A.request_hash, "params": A.params}), "twice"),
    ],
)
def test_a_line_that_is_no_request_is_refused(exchange: Exchange, text: str, found: str) -> None:
    with (exchange.requests / "requests.jsonl").open("a") as file:
        file.write("\n" + text)
    with pytest.raises(ExchangeError, match=found.replace(":4", ":5")):
        read_requests(exchange.requests)


def test_a_folder_without_an_export_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match=r"requests\.jsonl"):
        read_requests(tmp_path)


def test_batch_results_are_stored_as_they_are(exchange: Exchange) -> None:
    report = exchange.results(
        succeeded(A, "one"),
        succeeded(C, "☃", stop_reason="max_tokens"),
        failed(B, "errored") | {"more": 1},
        into=exchange.store,
    )
    assert (report.requested, report.written, report.already_there) == (3, 2, 0)
    assert (report.failed, report.failed_ids) == ({"errored": 1}, (B.request_hash,))
    assert report.missing == ()
    assert exchange.stored(A) == json.loads(message_for("one"))
    assert exchange.stored(C) == json.loads(message_for("☃", stop_reason="max_tokens"))
    assert exchange.stored(B) is None


@pytest.mark.parametrize("kind", ["errored", "expired", "canceled"])
def test_a_result_without_an_answer_is_counted_and_never_stored(
    exchange: Exchange, kind: str
) -> None:
    report = exchange.results(failed(A, kind), failed(B, kind), into=exchange.store)
    assert report.failed == {kind: 2}
    assert report.missing == (C.request_hash,)
    assert exchange.stored(A) is None


def test_a_request_that_failed_first_and_was_answered_then_is_answered(exchange: Exchange) -> None:
    report = exchange.results(failed(A, "expired"), succeeded(A), into=exchange.store)
    assert (report.written, report.failed, report.failed_ids) == (1, {"expired": 1}, ())


def test_raw_answers_become_messages_that_invent_nothing(exchange: Exchange) -> None:
    raw = '{"x": "☃"}\r\n'.encode()
    report = exchange.files({f"{A.request_hash}.json": raw, f"{B.request_hash}.a.txt": b"no"})
    assert (report.written, report.missing) == (2, (C.request_hash,))
    found = exchange.stored(A)
    assert found is not None
    assert found["content"] == [{"type": "text", "text": '{"x": "☃"}\r\n'}]
    assert (found["model"], found["stop_reason"], found["usage"]) == (MODEL, None, None)


def test_hidden_files_are_let_be(exchange: Exchange) -> None:
    assert exchange.files({".DS_Store": b"x", f"{A.request_hash}.json": b"{}"}).written == 1


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("stranger.json", b"{}", "stranger, which is no exported request"),
        (f"{A.request_hash}.json", b"\xff{}", "not UTF-8 at byte 0"),
        (f"{A.request_hash}.json", b" \n", "empty"),
    ],
)
def test_an_answer_file_that_fits_nothing_refuses_the_whole_import(
    exchange: Exchange, name: str, content: bytes, found: str
) -> None:
    with pytest.raises(ExchangeError, match=found):
        exchange.files({f"{B.request_hash}.json": b"{}", name: content})
    assert exchange.stored(B) is None


@pytest.mark.parametrize(
    ("results", "found"),
    [
        ([succeeded(request_for("mallory"))], "no exported request"),
        ([failed(request_for("mallory"), "expired")], "no exported request"),
        ([succeeded(A, model="claude-other")], "'claude-other' and not by 'claude-judge'"),
        ([succeeded(A, usage={"input_tokens": 1})], "output_tokens"),
        ([succeeded(A, "yes"), succeeded(A, "no")], "answered twice, differently"),
        ([{"custom_id": "x", "result": {"type": "new"}}], "results.jsonl:2"),
    ],
)
def test_a_result_that_fits_nothing_refuses_the_whole_import(
    exchange: Exchange, results: list[dict[str, Any]], found: str
) -> None:
    with pytest.raises(ExchangeError, match=found):
        exchange.results(succeeded(B), *results, into=exchange.store)
    assert exchange.stored(B) is None


def test_all_problems_are_named_up_to_a_number(exchange: Exchange) -> None:
    strangers = [succeeded(request_for(f"m{n}")) for n in range(25)]
    with pytest.raises(ExchangeError, match="and 5 more") as caught:
        exchange.results(*strangers, into=exchange.store)
    assert str(caught.value).count("no exported request") == 20


def test_the_same_answer_twice_is_reported_and_stored_once(exchange: Exchange) -> None:
    report = exchange.results(succeeded(A), succeeded(A), into=exchange.store)
    assert (report.written, report.doubled) == (1, (A.request_hash,))


def test_a_dated_snapshot_answers_for_its_model(exchange: Exchange) -> None:
    report = exchange.results(succeeded(A, model=f"{MODEL}-20260101"), into=exchange.store)
    assert report.written == 1


@pytest.mark.parametrize("target", ["store", "recordings"])
def test_what_stands_is_kept_unless_it_is_to_be_replaced(exchange: Exchange, target: str) -> None:
    into: Path = getattr(exchange, target)
    exchange.results(succeeded(A, "old"), into=into)
    report = exchange.results(succeeded(A, "old"), succeeded(B), into=into)
    assert (report.written, report.already_there) == (1, 1)
    with pytest.raises(ExchangeError, match=f"another answer to {A.request_hash}"):
        exchange.results(succeeded(A, "new"), succeeded(C), into=into)
    assert exchange.results(succeeded(C), into=into).already_there == 0
    replaced = exchange.results(succeeded(A, "new"), succeeded(B), into=into, replace=True)
    assert (replaced.written, replaced.already_there) == (1, 1)


def test_recordings_are_merged_sorted_and_read_back(exchange: Exchange) -> None:
    exchange.results(succeeded(C, "c"), succeeded(A, "a ☃"), into=exchange.recordings)
    exchange.results(succeeded(B, "b"), into=exchange.recordings)
    ids = [each["custom_id"] for each in lines(exchange.recordings)]
    assert ids == sorted(each.request_hash for each in (A, B, C))
    recordings = Recordings(exchange.recordings.parent)
    found = recordings.message_of(A.request_hash)
    assert found is not None
    assert json.loads(found) == json.loads(message_for("a ☃"))
    assert [path.name for path in exchange.recordings.parent.iterdir()] == ["r.jsonl"]


def test_importing_the_same_again_leaves_the_file_as_it_was(exchange: Exchange) -> None:
    exchange.results(succeeded(A), into=exchange.recordings)
    before = exchange.recordings.stat().st_mtime_ns
    exchange.results(succeeded(A), into=exchange.recordings)
    assert exchange.recordings.stat().st_mtime_ns == before


def test_a_recordings_file_that_is_broken_is_not_written_over(exchange: Exchange) -> None:
    exchange.recordings.parent.mkdir()
    exchange.recordings.write_text("{}\n")
    with pytest.raises(ExchangeError, match=r"r\.jsonl:1"):
        exchange.results(succeeded(A), into=exchange.recordings)
    assert exchange.recordings.read_text() == "{}\n"


def test_a_foreign_file_as_store_is_refused(exchange: Exchange) -> None:
    exchange.store.write_text("no database " * 100)
    with pytest.raises(StoreError):
        exchange.results(succeeded(A), into=exchange.store)


def test_results_of_several_batches_are_taken_in_together(exchange: Exchange) -> None:
    one = write_lines(exchange.folder / "one.jsonl", [succeeded(A)])
    other = write_lines(exchange.folder / "other.jsonl", [succeeded(B), failed(C, "expired")])
    report = import_answers(exchange.requests, BatchResults((one, other)), exchange.store)
    assert (report.written, report.failed) == (2, {"expired": 1})


def test_an_import_that_is_refused_makes_no_store(exchange: Exchange) -> None:
    with pytest.raises(ExchangeError):
        exchange.results(succeeded(A, model="other"), into=exchange.store)
    assert not exchange.store.exists()

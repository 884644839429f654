import json
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from evals.errors import ExchangeError, StoreError
from evals.judging.answer_sources import AnswerFiles, BatchResults
from evals.judging.exchange import read_requests
from evals.judging.export import ANSWER_LINE, Export, export_requests
from evals.judging.imports import ImportReport, import_answers
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest, request_hash_of
from evals.judging.store import AnswerStore
from tests.judging.helpers import MODEL, PROMPT, message_for, request_for

A, B, C = (request_for(name) for name in ("alice", "bob ☃ \u2028", "carol"))
REPEATED = request_for("alice", repeat=2, purpose="premise.pass_2")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, values: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in values), encoding="utf-8")
    return path


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


def test_an_export_is_a_batch_with_a_manifest_each_request_once(tmp_path: Path) -> None:
    report = export_requests([A, REPEATED, A], tmp_path / "out", as_text=False)
    assert (report.requests, report.by_purpose) == (
        2,
        {"premise.pass_1": 1, "premise.pass_2": 1},
    )
    assert lines(tmp_path / "out" / "requests.jsonl") == [
        {"custom_id": each.request_hash, "params": each.params} for each in (A, REPEATED)
    ]
    assert lines(tmp_path / "out" / "manifest.jsonl") == [
        {"custom_id": A.request_hash, "purpose": "premise.pass_1", "repeat": 0},
        {"custom_id": REPEATED.request_hash, "purpose": "premise.pass_2", "repeat": 2},
    ]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        "manifest.jsonl",
        "requests.jsonl",
    ]


def test_an_export_is_private(tmp_path: Path) -> None:
    export_requests([A], tmp_path / "out", as_text=True)
    modes = {
        stat.S_IMODE(path.stat().st_mode): path.is_dir()
        for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    }
    assert modes == {0o700: True, 0o600: False}


def test_as_text_a_request_is_one_plain_file(tmp_path: Path) -> None:
    export_requests([B], tmp_path, as_text=True)
    text = (tmp_path / "text" / f"{B.request_hash}.txt").read_bytes().decode()
    assert text == f"{PROMPT.system}\n\n{B.user}\n\n{ANSWER_LINE}\n"


def test_another_export_into_the_same_folder_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    export_requests([A, B], tmp_path, as_text=True)
    (tmp_path / "text" / "notes.txt").write_text("mine")
    export_requests([B, C], tmp_path, as_text=True)
    names = {path.name for path in (tmp_path / "text").iterdir()}
    assert names == {f"{B.request_hash}.txt", f"{C.request_hash}.txt", "notes.txt"}
    assert set(read_requests(tmp_path)) == {B.request_hash, C.request_hash}


def test_an_export_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExchangeError, match="file"):
        export_requests([A], tmp_path / "file", as_text=False)


def test_exported_requests_come_back_with_their_hashes_verified(tmp_path: Path) -> None:
    export_requests([A, REPEATED], tmp_path, as_text=False)
    found = read_requests(tmp_path)
    assert list(found) == [A.request_hash, REPEATED.request_hash]
    assert found[REPEATED.request_hash].purpose == "premise.pass_2"
    assert found[A.request_hash].model == MODEL


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


def test_the_hash_of_a_request_survives_its_journey_as_json() -> None:
    params = json.loads(json.dumps(B.params))
    assert request_hash_of(params, 0) == B.request_hash


def test_an_export_is_split_where_it_is_more_than_one_batch(tmp_path: Path) -> None:
    requests = [request_for(f"conclusion {number}") for number in range(10)]
    export = Export(tmp_path, as_text=False, max_requests=4)
    for request in [*requests, requests[0]]:
        export.add(request)
    assert export.finish().requests == 10
    names = sorted(path.name for path in tmp_path.iterdir())
    files = [f"requests-00{number}.jsonl" for number in (1, 2, 3)]
    assert names == ["manifest.jsonl", *files]
    assert [len(lines(tmp_path / name)) for name in files] == [4, 4, 2]
    assert list(read_requests(tmp_path)) == [each.request_hash for each in requests]
    # A smaller one in the same place leaves nothing of it.
    export_requests([A], tmp_path, as_text=False)
    assert list(read_requests(tmp_path)) == [A.request_hash]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.jsonl", "requests.jsonl"]


def test_each_file_of_a_split_export_makes_a_batch_within_the_byte_limit(tmp_path: Path) -> None:
    most = 3 * len(A.body)
    export = Export(tmp_path, as_text=False, max_bytes=most)
    for number in range(10):
        export.add(request_for(f"conclusion {number}"))
    export.finish()
    files = sorted(tmp_path.glob("requests-*.jsonl"))
    assert len(files) > 3
    for path in files:
        batch = {"requests": lines(path)}
        assert len(json.dumps(batch, separators=(",", ":"))) <= most


def test_an_export_that_breaks_off_leaves_the_last_one_whole(tmp_path: Path) -> None:
    export_requests([A], tmp_path, as_text=False)
    broken = Export(tmp_path, as_text=False)
    broken.add(B)
    assert list(read_requests(tmp_path)) == [A.request_hash]
    broken.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.jsonl", "requests.jsonl"]


def test_what_a_killed_export_left_is_cleared_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".notes.part").write_text("of somebody else")
    killed = Export(tmp_path, as_text=False)
    killed.add(B)
    export_requests([A], tmp_path, as_text=False)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".notes.part", "manifest.jsonl", "requests.jsonl"]
    killed.close()


def test_an_export_onto_a_full_disk_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_full_disk(path: Path) -> IO[bytes]:
        path.touch()
        return Path("/dev/full").open("wb")

    monkeypatch.setattr("evals.judging.export._open_anew", on_full_disk)
    with pytest.raises(ExchangeError, match="No space left"):
        export_requests([A], tmp_path, as_text=False)
    assert list(tmp_path.iterdir()) == []


def test_results_of_several_batches_are_taken_in_together(exchange: Exchange) -> None:
    one = write_lines(exchange.folder / "one.jsonl", [succeeded(A)])
    other = write_lines(exchange.folder / "other.jsonl", [succeeded(B), failed(C, "expired")])
    report = import_answers(exchange.requests, BatchResults((one, other)), exchange.store)
    assert (report.written, report.failed) == (2, {"expired": 1})


def test_an_import_that_is_refused_makes_no_store(exchange: Exchange) -> None:
    with pytest.raises(ExchangeError):
        exchange.results(succeeded(A, model="other"), into=exchange.store)
    assert not exchange.store.exists()

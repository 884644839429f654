"""Requests written out to be answered elsewhere: whole, verified, private, in batches that fit."""

import json
import stat
from pathlib import Path
from typing import IO

import pytest

from evals.errors import ExchangeError
from evals.judging.exchange import read_requests
from evals.judging.export import ANSWER_LINE, Export, export_requests
from evals.judging.request import request_hash_of
from tests.judging.exported import REPEATED, A, B, C, lines
from tests.judging.helpers import MODEL, PROMPT, request_for


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

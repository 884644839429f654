"""The requests of a round on disk: the API's form, its limits, and nothing left behind."""

import asyncio
import json
from pathlib import Path
from typing import IO

import pytest

from evals.errors import StoreError
from evals.judging.batch.spool import Spool, SpooledBatch
from tests.judging.helpers import request_for


async def body_of(batch: SpooledBatch) -> bytes:
    return b"".join([piece async for piece in batch.pieces()])


def test_a_batch_is_what_the_api_takes(tmp_path: Path) -> None:
    requests = [request_for("Ana ❤ trees"), request_for("\n\u2028 odd ones"), request_for("c")]
    spool = Spool(tmp_path)
    for request in requests:
        spool.add(request)
    [batch] = spool.sealed()
    body = asyncio.run(body_of(batch))
    assert len(body) == batch.length_bytes
    assert json.loads(body) == {
        "requests": [{"custom_id": each.request_hash, "params": each.params} for each in requests]
    }
    assert asyncio.run(body_of(batch)) == body, "it can be sent again"
    assert batch.hashes == [each.request_hash for each in requests]
    batch.close()


def test_each_batch_stays_within_the_limits(tmp_path: Path) -> None:
    requests = [request_for(f"conclusion {number}") for number in range(10, 33)]
    most = 5 * len(requests[0].body)
    spool = Spool(tmp_path, max_requests=7, max_bytes=most)
    for request in requests:
        spool.add(request)
    batches = spool.sealed()
    assert all(batch.length_bytes <= most and len(batch.hashes) <= 7 for batch in batches)
    # And no batch but the last could have taken one more.
    assert all(batch.length_bytes + len(requests[0].body) + 100 > most for batch in batches[:-1])
    sent = [key for batch in batches for key in batch.hashes]
    assert sent == [each.request_hash for each in requests]
    for batch in batches:
        batch.close()


def test_a_batch_asks_one_model(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for model in ("one", "one", "other"):
        spool.add(request_for(f"conclusion {len(spool)}", model=model))
    batches = spool.sealed()
    assert [(batch.model, len(batch.hashes)) for batch in batches] == [("one", 2), ("other", 1)]
    for batch in batches:
        batch.close()


def test_nothing_of_it_can_be_found_on_disk(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "made for it")
    spool.add(request_for("a secret"))
    assert list((tmp_path / "made for it").iterdir()) == []
    assert (tmp_path / "made for it").stat().st_mode & 0o077 == 0
    spool.close()


def test_what_was_taken_out_is_not_in_it_any_more(tmp_path: Path) -> None:
    spool, request = Spool(tmp_path), request_for("a")
    spool.add(request)
    assert request.request_hash in spool
    [batch] = spool.sealed()
    batch.close()
    assert request.request_hash not in spool
    assert spool.sealed() == []


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="room for the requests of a round"):
        Spool(tmp_path / "file").add(request_for("a"))


def test_a_full_disk_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_full_disk(dir: Path) -> IO[bytes]:  # noqa: A002  the name that the library gives it
        assert dir == tmp_path
        return Path("/dev/full").open("wb")

    spool = Spool(tmp_path)
    monkeypatch.setattr("tempfile.TemporaryFile", on_full_disk)
    spool.add(request_for("a"))
    with pytest.raises(StoreError, match="No space left"):
        spool.sealed()
    spool.close()

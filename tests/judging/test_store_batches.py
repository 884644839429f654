"""What the store knows of batches that have not ended."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evals.judging.store import AnswerStore

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
SERVER, OTHER = "https://api.example", "https://other.example"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnswerStore]:
    opened = AnswerStore(tmp_path / "answers.sqlite")
    yield opened
    opened.close()


def test_a_batch_is_known_before_the_server_has_named_it(store: AnswerStore) -> None:
    submission = store.begin_batch(SERVER, "judge", ["b" * 64, "a" * 64], AT)
    [batch] = store.open_batches(SERVER)
    assert (batch.submission, batch.batch_id, batch.requests) == (submission, None, 2)
    assert (batch.model_asked, batch.submitted_at) == ("judge", AT)
    assert store.hashes_in_batch(submission) == ("a" * 64, "b" * 64)
    assert store.batch_ids(SERVER) == frozenset()


def test_another_process_sees_what_was_written(store: AnswerStore) -> None:
    submission = store.begin_batch(SERVER, "judge", ["a" * 64], AT)
    store.name_batch(submission, "msgbatch_1")
    other = AnswerStore(store.path)
    assert [batch.batch_id for batch in other.open_batches(SERVER)] == ["msgbatch_1"]
    assert other.batch_ids(SERVER) == {"msgbatch_1"}
    other.close()


def test_batches_are_those_of_one_server_oldest_first(store: AnswerStore) -> None:
    for hours, server in ((3, SERVER), (1, SERVER), (2, OTHER)):
        at = AT + timedelta(hours=hours)
        store.name_batch(store.begin_batch(server, "judge", [], at), f"msgbatch_{hours}")
    ids = [batch.batch_id for batch in store.open_batches(SERVER)]
    assert ids == ["msgbatch_1", "msgbatch_3"]
    assert store.batch_ids(OTHER) == {"msgbatch_2"}


def test_a_batch_that_ended_is_open_no_more_and_its_id_stays_known(store: AnswerStore) -> None:
    submission = store.begin_batch(SERVER, "judge", ["a" * 64], AT)
    store.name_batch(submission, "msgbatch_1")
    store.end_batch(submission, AT)
    assert store.open_batches(SERVER) == ()
    assert store.hashes_in_batch(submission) == ()
    assert store.batch_ids(SERVER) == {"msgbatch_1"}


def test_a_batch_that_was_never_accepted_is_forgotten(store: AnswerStore) -> None:
    kept = store.begin_batch(SERVER, "judge", ["a" * 64], AT)
    store.drop_batch(store.begin_batch(SERVER, "judge", ["a" * 64], AT))
    assert [batch.submission for batch in store.open_batches(SERVER)] == [kept]


def test_a_second_candidate_holds_the_same_requests(store: AnswerStore) -> None:
    first = store.begin_batch(SERVER, "judge", ["a" * 64, "b" * 64], AT)
    store.name_batch(first, "msgbatch_1")
    second = store.copy_batch(first, "msgbatch_2")
    store.end_batch(first, AT)
    [batch] = store.open_batches(SERVER)
    assert (batch.submission, batch.batch_id, batch.requests) == (second, "msgbatch_2", 2)
    assert batch.submitted_at == AT


def test_a_hundred_thousand_requests_are_one_transaction(store: AnswerStore) -> None:
    hashes = [f"{number:064x}" for number in range(100_000)]
    submission = store.begin_batch(SERVER, "judge", hashes, AT)
    assert store.hashes_in_batch(submission) == tuple(hashes)

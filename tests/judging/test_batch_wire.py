"""What the Batches API says is read strictly, and its ids cannot lead anywhere else."""

import json

import pytest

from evals.judging.batch.wire import BatchState, Errored, NotOfTheApiError, ResultLine, read

STATE = {
    "id": "msgbatch_01HkcTjaV5uDC8jWR4ZsDV8d",
    "type": "message_batch",
    "processing_status": "in_progress",
    "request_counts": {"processing": 2, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
    "created_at": "2026-11-30T18:37:24.100435Z",
    "expires_at": "2026-12-01T18:37:24.100435Z",
    "results_url": None,
    "something_new": {"of": "later"},
}


def test_a_state_is_read_and_what_is_new_in_it_let_be() -> None:
    state = read(BatchState, json.dumps(STATE))
    assert state.created_at.tzinfo is not None
    assert state.request_counts.total == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "../../v1/organizations"},
        {"id": "a?limit=1"},
        {"id": ""},
        {"id": 7},
        {"created_at": "yesterday"},
        {"created_at": "2026-11-30T18:37:24"},
        {"archived_at": "yesterday"},
        {"processing_status": None},
        {"request_counts": {"processing": 2}},
        {"request_counts": STATE["request_counts"] | {"errored": "0"}},  # type: ignore[operator]
    ],
)
def test_what_is_no_state_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(NotOfTheApiError):
        read(BatchState, json.dumps(STATE | changed))


def test_an_error_is_read_in_its_envelope() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    line = {"custom_id": "a", "result": {"type": "errored", "error": error | {"request_id": "r"}}}
    result = read(ResultLine, json.dumps(line)).result
    assert isinstance(result, Errored)
    assert result.error.error.type == "overloaded_error"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        '{"custom_id": "a"}',
        '{"custom_id": "a", "result": {}}',
        '{"custom_id": "a", "result": {"type": "succeeded"}}',
        '{"custom_id": "a", "result": {"type": "succeeded", "message": "yes"}}',
        '{"custom_id": "a", "result": {"type": "errored"}}',
        '{"custom_id": 1, "result": {"type": "expired"}}',
        '{"custom_id": "a", "resu',
    ],
)
def test_what_is_no_result_is_refused(line: str) -> None:
    with pytest.raises(NotOfTheApiError):
        read(ResultLine, line)

"""Every kind of result of a batch ends right: answered once, asked again, or given up for good."""

import json
from pathlib import Path

import pytest

from evals.errors import IsolationError, WrongModelError
from evals.judging.isolation import ForbiddenText, Guard
from tests.judging.batch_runs import (
    KEY,
    POLICY,
    PRICES,
    Looked,
    TwoSteps,
    judge,
    open_batches,
    stored,
    two_steps,
)
from tests.judging.helpers import MODEL, request_for
from tests.messages_api.fixtures import MessagesApi


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


def test_a_round_for_each_step_is_enough(store: Path, messages_api: MessagesApi) -> None:
    looked = Looked()
    found = judge(store, messages_api, two_steps(10), looked)
    assert found.rounds == 2
    assert [row.outcome for row in found.rows] == ["sound"] * 10
    counts = messages_api.batch_counts()
    assert counts["batches"] == 2
    assert counts["requests"] == counts["distinct"] == 20
    assert counts["results"] == {"succeeded": 20}
    assert messages_api.counts()["posts"] == 0
    calls = [call for row in found.rows for call in row.calls]
    assert {(call.source, call.attempts) for call in calls} == {("batch", 1)}
    assert looked.counts.calls == 20
    assert looked.counts.answers == {"batch": 20}
    assert looked.counts.retries == looked.counts.in_flight == 0
    assert looked.status.number == 2
    assert looked.status.batch_ids == looked.status.notes == ()
    assert open_batches(store, messages_api) == 0


def test_a_second_run_asks_nothing(store: Path, messages_api: MessagesApi) -> None:
    first = judge(store, messages_api, two_steps(5))
    messages_api.reset_batches(forget=False)
    second = judge(store, messages_api, two_steps(5))
    assert second.rounds == 0
    assert messages_api.batch_counts()["exchanges"] == {}
    assert [row.outcome for row in second.rows] == [row.outcome for row in first.rows]
    assert {call.source for row in second.rows for call in row.calls} == {"store"}


def test_an_answer_is_kept_as_the_server_said_it(store: Path, messages_api: MessagesApi) -> None:
    judge(store, messages_api, [TwoSteps("Ana ❤ trees")])
    key = request_for("Ana ❤ trees").request_hash
    message = json.loads(stored(store)[key])
    assert message["model"] == MODEL
    assert message["usage"]["cache_creation_input_tokens"] == 0
    assert set(message) == {
        *("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage")
    }


@pytest.mark.parametrize("kind", ["invalid:3-4", "canceled:3-4"])
def test_what_is_refused_for_good_is_not_asked_again(
    kind: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(kind)
    found = judge(store, messages_api, two_steps(10))
    assert found.reasons == ["exhausted"] * 2
    wanted = "invalid_request_error: max_tokens: too many" if "invalid" in kind else "canceled at"
    assert all(wanted in detail for detail in found.details)
    counts = messages_api.batch_counts()
    assert counts["requests"] == counts["distinct"] == 18
    # It is asked anew by the next run: nothing of the failure is kept.
    messages_api.reset_batches(forget=False)
    assert judge(store, messages_api, two_steps(10)).reasons == []
    assert messages_api.batch_counts()["requests"] == 4


def test_a_key_that_the_server_says_back_is_said_to_nobody(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("says_key:1-1")
    looked = Looked()
    found = judge(store, messages_api, two_steps(2), looked)
    [detail] = found.details
    assert KEY not in detail
    assert "not with Bearer (key)" in detail
    assert not [note for note in looked.status.notes if KEY in note]


def test_an_answer_that_says_the_key_back_is_not_kept(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("answers_key:1-1")
    looked = Looked()
    found = judge(store, messages_api, two_steps(2), looked, prices=PRICES)
    assert found.reasons == ["exhausted"]
    [detail] = found.details
    assert "says the API key back" in detail
    assert all(KEY not in message for message in stored(store).values())
    assert len(stored(store)) == 2
    assert messages_api.batch_counts()["requests"] == 3
    assert looked.counts.calls == 3
    assert "may be billed" in str(looked.counts.spending.cost_unknown_why)


@pytest.mark.parametrize(
    ("kind", "is_billed"),
    [("api_error", False), ("expired", False), ("missing", True), ("no_message", True)],
)
def test_what_may_pass_is_asked_again_in_the_next_round(
    kind: str,
    is_billed: bool,  # noqa: FBT001  a column of the table
    store: Path,
    messages_api: MessagesApi,
) -> None:
    """What may be billed each time is a call each time, and then the cost is unknown."""
    messages_api.reset_batches(f"{kind}:3-4")
    looked = Looked()
    found = judge(store, messages_api, two_steps(10), looked, prices=PRICES)
    assert found.reasons == []
    counts = messages_api.batch_counts()
    assert counts["distinct"] == 20
    assert counts["requests"] == 22
    assert found.rounds == 3
    assert (looked.counts.calls, looked.counts.retries) == ((22, 0) if is_billed else (20, 2))
    why = str(looked.counts.spending.cost_unknown_why)
    assert why.startswith("2 calls were sent in batches") == is_billed
    assert [note for note in looked.status.notes if "2 unanswered" in note]
    attempts = sorted(call.attempts for row in found.rows for call in row.calls)
    assert attempts == [1] * 18 + [2] * 2


@pytest.mark.parametrize("kind", ["api_error", "expired", "missing", "no_message"])
def test_what_never_passes_is_given_up_after_some_rounds(
    kind: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(f"{kind}:1-")
    found = judge(store, messages_api, two_steps(4))
    assert found.reasons == ["exhausted"] * 4
    assert all("at the last of 3 times" in detail for detail in found.details)
    counts = messages_api.batch_counts()
    assert (counts["requests"], counts["distinct"]) == (4 * POLICY.max_attempts, 4)
    assert stored(store) == {}
    assert open_batches(store, messages_api) == 0


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        ("doubled:2-3", "2 results twice, alike: taken once"),
        ("contradicted:2-3", "2 results twice, and not alike: the first stands"),
        ("stranger:2-3", "2 results of requests that were not in it: not kept"),
    ],
)
def test_a_line_too_many_changes_no_answer_and_is_told(
    fault: str, note: str, store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(fault)
    looked = Looked()
    found = judge(store, messages_api, two_steps(6), looked)
    assert found.reasons == []
    assert messages_api.batch_counts()["requests"] == 12
    assert [each for each in looked.status.notes if each.endswith(note)]
    assert len(stored(store)) == 12
    assert "f" * 64 not in stored(store)
    assert looked.counts.spending.answers == 12


def test_of_two_answers_that_differ_the_first_stands(
    store: Path, messages_api: MessagesApi
) -> None:
    # The local server gives the later lines first: the changed one, whose id is ``x``.
    messages_api.reset_batches("contradicted:1-1")
    judge(store, messages_api, two_steps(1))
    key = request_for("case 1").request_hash
    assert json.loads(stored(store)[key])["id"] == "x"


def test_lines_that_cannot_be_read_are_downloaded_again_and_then_passed_over(
    store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("unreadable:2-2")
    looked = Looked()
    found = judge(store, messages_api, two_steps(3), looked)
    assert found.reasons == []
    assert messages_api.batch_counts()["exchanges"]["results"] == POLICY.max_attempts + 1
    assert any("1 result lines that cannot be read" in note for note in looked.status.notes)
    assert looked.counts.spending.answers == 6


@pytest.mark.parametrize(
    "faults", [["other_model:4-4"], ["snapshot:1-3", "later_snapshot:4-"], ["snapshot:2-2"]]
)
def test_another_model_than_the_pinned_one_stops_the_run(
    faults: list[str], store: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches(*faults)
    with pytest.raises(WrongModelError):
        judge(store, messages_api, two_steps(7))
    assert messages_api.batch_counts()["batches"] == 1
    models = {json.loads(message)["model"] for message in stored(store).values()}
    assert len(models) <= 1
    # What was right is kept, and the batch is still there to be looked at.
    assert open_batches(store, messages_api) == 1


def test_a_leak_stops_the_run_before_anything_is_sent(
    store: Path, messages_api: MessagesApi
) -> None:
    guard = Guard("case 3", ForbiddenText((("a window line", "Judge it."),)), accounted=())
    cases = [*two_steps(2), TwoSteps("case 3", guard)]
    with pytest.raises(IsolationError):
        judge(store, messages_api, cases)
    assert messages_api.batch_counts()["exchanges"] == {}

"""judge_batch over a scripted judge: every branch, and what each keeps."""

from collections.abc import Callable
from typing import Any

import pytest

from evals.errors import IsolationError, RefusedError, WrongModelError
from evals.judging.request import JudgeRequest
from evals.records import Window
from evals.set_level.row import SetLevelRow

MakeWindow = Callable[..., Window]
Issue = Callable[..., dict[str, Any]]
JudgeWindow = Callable[..., tuple[SetLevelRow, list[JudgeRequest]]]

REFUSED = RefusedError("answer", "a refusal", "a judgement", "Look at it.")


def ids_of(window: Window) -> list[str]:
    return [item.conclusion_id for item in window.conclusions]


def test_a_batch_takes_one_call_and_gives_a_full_row(
    make_window: MakeWindow, judge_window: JudgeWindow, issue: Issue
) -> None:
    window = make_window(["vince rows", "vince is in Oslo", "Vince rows.", "vince is in Bergen"])
    one, two, three, four = ids_of(window)
    found = [
        issue(three, one, severity="MEDIUM"),
        issue(two, four, kind="TEMPORAL_CONFUSION", severity="HIGH", evidence="two cities"),
    ]
    row, requests = judge_window(window, {"set_issues": found})
    assert len(requests) == 1
    assert requests[0].guard is None
    assert (row.kind, row.instrument, row.case_id) == ("batch", "set_level", "w1")
    assert (row.outcome, row.unjudged) == ("scored", None)
    assert (row.window_id, row.conclusion_ids) == ("w1", (one, two, three, four))
    assert row.issues is not None
    assert [item.model_dump(mode="json") for item in row.issues] == found
    assert (row.redundancy_groups, row.contradictions) == (((one, three),), 1)
    assert row.string_repeats == ((one, three),)
    assert [(call.purpose, call.request_hash) for call in row.calls] == [
        ("set_level.judge", requests[0].request_hash)
    ]
    assert SetLevelRow.model_validate_json(row.model_dump_json()) == row


def test_provenance_is_complete(make_window: MakeWindow, judge_window: JudgeWindow) -> None:
    window = make_window(messages=["one", ("may", "two")])
    row, _ = judge_window(window, {"set_issues": []}, reasoning="adaptive")
    said = row.provenance
    assert (said.run_id, said.bench_version, said.judge_model_id) == ("run-1", "0.1.0", "judge-1")
    assert said.reasoning_enabled
    assert list(said.judge_prompt_hashes) == ["set_level/judge"]
    assert [call.prompt_hash for call in row.calls] == list(said.judge_prompt_hashes.values())
    assert (said.window_id, said.window_text_hash) == ("w1", window.window_text_hash)
    assert said.window_message_ids == ("m1", "m2")
    assert said.message_timestamps == tuple(item.sent_at for item in window.messages)
    assert (said.deriver_model_id, said.deriver_prompt_hash) == ("deriver-1", "d" * 64)
    assert said.derived_at == window.conclusions[0].derived_at


def test_a_batch_of_one_is_scored_without_a_call(
    make_window: MakeWindow, judge_window: JudgeWindow
) -> None:
    row, requests = judge_window(make_window(["vince rows"]), REFUSED)
    assert (requests, row.calls) == ([], ())
    assert (row.outcome, row.issues, row.string_repeats) == ("scored", (), ())
    assert (row.redundancy_groups, row.contradictions) == ((), 0)


def test_a_batch_of_one_is_never_too_large(
    make_window: MakeWindow, judge_window: JudgeWindow
) -> None:
    row, requests = judge_window(make_window(["vince rows"], ["x" * 200_000]), REFUSED)
    assert (requests, row.outcome, row.issues) == ([], "scored", ())


def test_a_batch_that_does_not_fit_is_unjudged_without_a_call(
    make_window: MakeWindow, judge_window: JudgeWindow
) -> None:
    window = make_window(["vince rows", "Vince rows."], ["x" * 200_000])
    row, requests = judge_window(window, {"set_issues": []})
    assert (requests, row.calls) == ([], ())
    assert (row.outcome, row.unjudged_reason, row.issues) == ("unjudged", "too_large", None)
    assert row.unjudged is not None
    assert "2 conclusions" in row.unjudged.detail
    assert "at most 150,000 characters" in row.unjudged.detail
    # What needs no judge is there all the same.
    assert row.string_repeats == (tuple(ids_of(window)),)


def unknown(issue: Issue, ids: list[str]) -> dict[str, Any]:
    return issue(ids[0], "c\x1b[31m")


def repeated(issue: Issue, ids: list[str]) -> dict[str, Any]:
    return issue(ids[0], ids[1], ids[0])


def alone(issue: Issue, ids: list[str]) -> dict[str, Any]:
    return issue(ids[0], kind="TEMPORAL_CONFUSION")


def two_peers(issue: Issue, ids: list[str]) -> dict[str, Any]:
    return issue(ids[0], ids[2])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (unknown, "unknown conclusion 'c�[31m'"),
        (repeated, "named twice"),
        (alone, "1 conclusions"),
        (two_peers, "group about 2 peers"),
    ],
)
def test_an_answer_about_other_groups_than_there_can_be_is_invalid(
    make_window: MakeWindow,
    judge_window: JudgeWindow,
    issue: Issue,
    wrong: Callable[[Issue, list[str]], dict[str, Any]],
    told: str,
) -> None:
    window = make_window(["vince rows", "vince sings", ("may", "vince rows")])
    ids = ids_of(window)
    # One good issue does not save the answer: what it says of the rest is not known.
    found = [issue(ids[0], ids[1]), wrong(issue, ids)]
    row, requests = judge_window(window, {"set_issues": found})
    assert (row.outcome, row.unjudged_reason, row.issues) == ("unjudged", "invalid_output", None)
    assert row.unjudged is not None
    assert told in row.unjudged.detail
    assert requests[0].request_hash[:12] in row.unjudged.detail
    assert len(row.calls) == 1  # it has been paid for


def test_a_contradiction_can_be_between_peers(
    make_window: MakeWindow, judge_window: JudgeWindow, issue: Issue
) -> None:
    window = make_window(["vince met may in Oslo at noon", ("may", "may was in Rome at noon")])
    found = [issue(*ids_of(window), kind="TEMPORAL_CONFUSION")]
    row, _ = judge_window(window, {"set_issues": found})
    assert (row.outcome, row.contradictions, row.redundancy_groups) == ("scored", 1, ())


@pytest.mark.parametrize(
    ("reply", "reason", "calls"),
    [
        (REFUSED, "refused", 0),
        ("```json\n{}\n```", "invalid_output", 1),
        ("", "invalid_output", 1),
        ({"set_issues": [], "note": ""}, "invalid_output", 1),
    ],
)
def test_without_a_usable_answer_the_row_is_unjudged(
    make_window: MakeWindow,
    judge_window: JudgeWindow,
    reply: str | dict[str, Any] | Exception,
    reason: str,
    calls: int,
) -> None:
    row, requests = judge_window(make_window(["vince rows", "vince rows"]), reply)
    assert (row.outcome, row.unjudged_reason) == ("unjudged", reason)
    assert (row.issues, row.redundancy_groups, row.contradictions) == (None, None, None)
    assert len(row.string_repeats) == 1
    assert (len(requests), len(row.calls)) == (1, calls)


@pytest.mark.parametrize("error_type", [IsolationError, WrongModelError])
def test_what_stops_the_session_is_never_made_a_row(
    make_window: MakeWindow, judge_window: JudgeWindow, error_type: type[Exception]
) -> None:
    with pytest.raises(error_type, match="here: found this"):
        judge_window(make_window(), error_type("here", "this", "that", "Stop."))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"string_repeats": [["gone", "away"]]}, "away is in a group and not in the batch"),
        ({"conclusion_ids": []}, "is in a group and not in the batch"),
        ({"issues": None}, "scored, but issues or unjudged say otherwise"),
        ({"outcome": "unjudged"}, "unjudged, but"),
        ({"unjudged": {"reason": "refused", "detail": "why"}}, "scored, but"),
    ],
)
def test_a_row_that_contradicts_itself_cannot_be_read(
    make_window: MakeWindow,
    judge_window: JudgeWindow,
    issue: Issue,
    changed: dict[str, Any],
    told: str,
) -> None:
    window = make_window()
    row, _ = judge_window(window, {"set_issues": [issue(*ids_of(window))]})
    with pytest.raises(ValueError, match=told):
        SetLevelRow.model_validate(row.model_dump() | changed)

"""judge_conclusion over a scripted judge: every branch, and what each keeps."""

import asyncio
import json
from typing import Any

import pytest

from evals.errors import IsolationError, JudgeError, WrongModelError
from evals.judging.request import JudgeRequest
from evals.premise.row import ConclusionRow
from tests.premise.judging import (
    REFUSED,
    Answers,
    MakeWindow,
    case_of,
    judge,
    minimality_of_all,
    missing,
    open_slots,
    settled,
)
from tests.scripted import Reply, ScriptedJudge, run_context

PURPOSES = ("pass_1", "pass_2", "minimality", "attribution_search")


def test_a_sound_conclusion_gets_a_full_row(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    window = make_window(conclusions=["vince lives in Oslo", "vince starts on 2026-06-08"])
    row, scripted = judge(
        window, {"pass_1": pass_1(labels=["a"]), "pass_2": pass_2(labels=["b"])}, ordinal=1
    )
    assert (row.outcome, row.unjudged) == ("sound", None)
    assert row.verdict is not None
    assert row.verdict.sound
    assert row.labels == ("a", "b")
    assert row.minimality is not None
    assert row.minimality.conclusion_id == window.conclusions[1].conclusion_id
    assert row.molecular == pytest.approx((0.9 * 0.1) ** 0.5)
    assert (row.missing, row.attribution_scope) == ((), None)
    assert row.token_count == 4
    assert [call.purpose for call in row.calls] == [
        "premise.pass_1",
        "premise.pass_2",
        "premise.minimality",
    ]
    assert len(scripted.requests) == 3
    assert ConclusionRow.model_validate_json(row.model_dump_json()) == row


def test_provenance_is_complete(make_window: MakeWindow, pass_1: Answers, pass_2: Answers) -> None:
    window = make_window(["one", "two"], ["vince ran"])
    row, _ = judge(window, {"pass_1": pass_1(), "pass_2": pass_2()}, reasoning="adaptive")
    said = row.provenance
    assert (said.run_id, said.bench_version, said.judge_model_id) == ("run-1", "0.1.0", "judge-1")
    assert said.reasoning_enabled
    assert (said.git_commit, said.git_dirty) == ("abc", True)
    assert set(said.judge_prompt_hashes) == {f"premise/{name}" for name in PURPOSES}
    assert {call.prompt_hash for call in row.calls} <= set(said.judge_prompt_hashes.values())
    assert (said.window_id, said.window_text_hash) == ("w1", window.window_text_hash)
    assert said.window_message_ids == ("m1", "m2")
    assert said.message_timestamps == tuple(item.sent_at for item in window.messages)
    assert (said.peer_id, said.dataset_shape) == ("vince", "production")
    assert not said.window_reconstructed
    assert (said.deriver_model_id, said.deriver_prompt_hash) == ("deriver-1", "d" * 64)
    assert said.derived_at == window.conclusions[0].derived_at


def test_pass_1_sees_the_conclusion_alone_and_pass_2_sees_pass_1_verbatim(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    window = make_window(["My first day is 8 June!", "Congrats"], ["vince starts", "vince rows"])
    text = json.dumps(pass_1(reconstruction="ends </blind_reader_analysis> here"), indent=1)
    _, scripted = judge(window, {"pass_1": text, "pass_2": pass_2()})
    blind, sighted = scripted.asked("pass_1")[0], scripted.asked("pass_2")[0]
    assert blind.user == '<conclusion>\n"vince starts"\n</conclusion>'
    assert blind.guard is not None
    assert "8 June" not in json.dumps(blind.params)
    assert "vince rows" not in json.dumps(blind.params)
    inside = sighted.user.split("<blind_reader_analysis>\n")[1].split("\n</blind_reader")[0]
    assert inside == text.replace("</", "<\\/")
    assert json.loads(inside) == json.loads(text)
    assert "My first day is 8 June!" in sighted.user
    assert sighted.guard is None


def test_an_unsound_conclusion_says_why(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    row, _ = judge(
        make_window(),
        {"pass_1": pass_1(licensed_inference="NONE"), "pass_2": pass_2(force_preserved=False)},
    )
    assert row.outcome == "unsound"
    assert row.verdict is not None
    assert row.verdict.failed_because == ("licensed_inference", "force_preserved")


def test_policy_reaches_the_verdict(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    element = {"element": "in Oslo", "kind": "OVER_INFERENCE", "why": "reasoned out"}
    script = {"pass_1": pass_1(), "pass_2": pass_2(unsupported_elements=[element])}
    assert judge(make_window(), script)[0].outcome == "unsound"
    assert judge(make_window(), script, over_inference_fails=False)[0].outcome == "sound"


@pytest.mark.parametrize(
    ("reply", "reason", "calls"),
    [(REFUSED, "refused", 1), ("```json\n{}\n```", "invalid_output", 2)],
)
def test_without_pass_1_the_row_is_unjudged_and_keeps_minimality(
    make_window: MakeWindow, reply: Reply, reason: str, calls: int
) -> None:
    row, scripted = judge(make_window(), {"pass_1": reply})
    assert (row.outcome, row.unjudged_reason) == ("unjudged", reason)
    assert (row.verdict, row.pass_1, row.pass_2) == (None, None, None)
    assert row.minimality is not None
    assert (row.missing, row.attribution_scope) == ((), None)
    assert scripted.asked("pass_2") == []
    # An unusable answer has been paid for, so its call is kept; a call without one has none.
    assert len(row.calls) == calls


@pytest.mark.parametrize(
    ("reply", "reason"), [(REFUSED, "refused"), ('{"force_preserved": true}', "invalid_output")]
)
def test_without_pass_2_the_row_is_unjudged_and_keeps_pass_1(
    make_window: MakeWindow, pass_1: Answers, reply: Reply, reason: str
) -> None:
    row, _ = judge(
        make_window(earlier=["Hello"]),
        {"pass_1": pass_1(unknown_slots=open_slots("TIME")), "pass_2": reply},
    )
    assert (row.outcome, row.unjudged_reason) == ("unjudged", reason)
    assert row.pass_1 is not None
    assert row.pass_1.decontextuality == 0.9
    assert (row.pass_2, row.verdict, row.attribution_scope) == (None, None, None)


def drop_last(request: JudgeRequest) -> dict[str, Any]:
    return {"items": minimality_of_all(request)["items"][:-1]}


def double_first(request: JudgeRequest) -> dict[str, Any]:
    items = minimality_of_all(request)["items"]
    return {"items": [items[0], *items]}


def rename_first(request: JudgeRequest) -> dict[str, Any]:
    items = minimality_of_all(request)["items"]
    return {"items": [items[0] | {"conclusion_id": "someone-else"}, *items[1:]]}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (REFUSED, "refused"),
        (drop_last, "invalid_output"),
        (double_first, "invalid_output"),
        (rename_first, "invalid_output"),
        ({"items": []}, "invalid_output"),
    ],
)
def test_without_minimality_the_verdict_stands(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers, reply: Reply, reason: str
) -> None:
    window = make_window(conclusions=["vince rows", "vince sings"])
    row, _ = judge(window, {"pass_1": pass_1(), "pass_2": pass_2(), "minimality": reply})
    assert row.outcome == "sound"
    assert (row.minimality, row.molecular) == (None, None)
    assert row.minimality_unjudged is not None
    assert row.minimality_unjudged.reason == reason


def test_the_message_names_the_ids_left_out(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    window = make_window(conclusions=["vince rows", "vince sings"])
    row, _ = judge(window, {"pass_1": pass_1(), "pass_2": pass_2(), "minimality": drop_last})
    assert row.minimality_unjudged is not None
    assert window.conclusions[0].conclusion_id in row.minimality_unjudged.detail
    assert "premise.minimality" in row.minimality_unjudged.detail


def test_all_conclusions_of_a_window_ask_the_same_minimality_request(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    window = make_window(conclusions=["vince rows", "vince sings", "vince rows"])
    scores, hashes = [], set()
    for ordinal in range(3):
        row, scripted = judge(window, {"pass_1": pass_1(), "pass_2": pass_2()}, ordinal=ordinal)
        assert row.minimality is not None
        scores.append(row.minimality.minimality)
        hashes |= {request.request_hash for request in scripted.asked("minimality")}
    assert scores == [0.0, 0.1, 0.2]
    assert len(hashes) == 1


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("error_type", [IsolationError, WrongModelError])
def test_what_stops_the_session_is_never_made_a_row(
    make_window: MakeWindow,
    pass_1: Answers,
    pass_2: Answers,
    purpose: str,
    error_type: type[Exception],
) -> None:
    assert not issubclass(error_type, JudgeError)
    script: dict[str, Any] = {
        "pass_1": pass_1(unknown_slots=open_slots("PLACE")),
        "pass_2": pass_2(missing=missing(("PLACE", "ABSENT_EVERYWHERE"))),
        "minimality": minimality_of_all,
        "attribution_search": settled(("PLACE", False, "")),
    }
    script[purpose] = error_type("here", "this", "that", "Stop.")
    with pytest.raises(error_type, match="here: found this"):
        judge(make_window(earlier=["Hello"]), script)


def test_a_leak_stops_the_case_before_anything_is_sent(
    make_window: MakeWindow,
    pass_1: Answers,
    pass_2: Answers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A rendering that has gone wrong: the window slips in beside the conclusion.
    from evals.premise import ask, render  # noqa: PLC0415  patched in place

    window = make_window(["My first day is Monday!"], ["vince starts"])

    def leaky(conclusion: str, *rest: Any) -> JudgeRequest:
        return render.pass_1_request(f"{conclusion} (my FIRST day\nis Monday!)", *rest)

    monkeypatch.setattr(ask, "pass_1_request", leaky)
    scripted = ScriptedJudge("premise", {"pass_1": pass_1(), "pass_2": pass_2()})
    case = case_of(window)
    with pytest.raises(IsolationError, match="My first day is Monday!") as caught:
        asyncio.run(case.evaluate(scripted, run_context()))
    assert caught.value.where == case.case_id
    assert scripted.asked("pass_1") == []
    assert scripted.cancelled == ["minimality"]


def test_cancelling_a_case_cancels_what_it_waits_for(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    scripted = ScriptedJudge(
        "premise",
        {"pass_1": pass_1(), "pass_2": pass_2(), "minimality": minimality_of_all},
        turns=100,
    )

    async def run() -> None:
        task = asyncio.create_task(case_of(make_window()).evaluate(scripted, run_context()))
        for _ in range(20):  # far enough for both to be asked, not for either to be answered
            await asyncio.sleep(0)
        assert len(scripted.requests) == 2
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert sorted(scripted.cancelled) == ["minimality", "pass_1"]

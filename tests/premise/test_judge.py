"""judge_conclusion over a scripted judge: every branch, and what each keeps."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pytest

from evals.errors import IsolationError, JudgeError, RefusedError, WrongModelError
from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse
from evals.premise.case import PremiseCase, premise_cases
from evals.premise.render import load_premise_prompts
from evals.premise.row import ConclusionRow
from evals.records import Call, Window

Answers = Callable[..., dict[str, Any]]
Reply = str | dict[str, Any] | Exception
Script = Mapping[str, Reply | Callable[[JudgeRequest], Reply]]
PURPOSES = ("pass_1", "pass_2", "minimality", "attribution_search")
REFUSED = RefusedError("answer", "a refusal", "a judgement", "Look at it.")


class ScriptedJudge:
    """Answers from a script by purpose; checks guards as a real judge does; records requests."""

    def __init__(self, script: Script, *, turns: int = 1) -> None:
        self.script = script
        self.turns = turns
        self.requests: list[JudgeRequest] = []
        self.cancelled: list[str] = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        purpose = request.purpose.removeprefix("premise.")
        if request.guard is not None:
            request.guard.check(request.params)
        self.requests.append(request)
        try:
            # Pass 1 is slowest, so that an order which rests on timing would show.
            for _ in range(self.turns * (5 if purpose == "pass_1" else 1)):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(purpose)
            raise
        reply = self.script[purpose]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        call = Call(
            purpose=request.purpose,
            request_hash=request.request_hash,
            prompt_hash=request.prompt.prompt_hash,
            source="live",
            model_asked=request.settings.model,
            model_served=request.settings.model,
            input_tokens=1,
            cache_read_tokens=0,
            cache_write_tokens=0,
            output_tokens=1,
            attempts=1,
        )
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return JudgeResponse(text=text, stop_reason="end_turn", call=call)

    def asked(self, purpose: str) -> list[JudgeRequest]:
        return [item for item in self.requests if item.purpose == f"premise.{purpose}"]


def minimality_of_all(request: JudgeRequest) -> dict[str, Any]:
    lines = request.user.splitlines()[1:-1]
    ids = [json.loads(line)["conclusion_id"] for line in lines]
    items = [
        {"conclusion_id": name, "claims": ["one"], "padding": [], "minimality": index / 10}
        for index, name in enumerate(ids)
    ]
    return {"items": items[::-1]}  # any order will do


def context(*, over_inference_fails: bool = True, reasoning: str = "off") -> RunContext:
    mode: Literal["off", "adaptive"] = "adaptive" if reasoning == "adaptive" else "off"
    return RunContext(
        run_id="run-1",
        bench_version="0.1.0",
        git_commit="abc",
        git_dirty=True,
        settings=JudgeSettings(model="judge-1", reasoning=mode),
        over_inference_fails=over_inference_fails,
    )


def case_of(window: Window, ordinal: int = 0) -> PremiseCase:
    return premise_cases([window], load_premise_prompts())[ordinal]


def judge(
    window: Window, script: Script, *, ordinal: int = 0, **policy: Any
) -> tuple[ConclusionRow, ScriptedJudge]:
    scripted = ScriptedJudge({"minimality": minimality_of_all} | dict(script))
    row = asyncio.run(case_of(window, ordinal).evaluate(scripted, context(**policy)))
    return row, scripted


def missing(*slots: tuple[str, str]) -> list[dict[str, str]]:
    return [{"slot": s, "attribution": a, "evidence": f"{s} in window"} for s, a in slots]


def open_slots(*names: str) -> list[dict[str, str]]:
    return [{"slot": name, "why": f"{name} is open"} for name in names]


def settled(*slots: tuple[str, bool, str]) -> dict[str, Any]:
    return {"slots": [{"slot": s, "said_earlier": e, "evidence": w} for s, e, w in slots]}


MakeWindow = Callable[..., Window]


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


def test_the_attribution_search_settles_absent_slots_only(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    window = make_window(earlier=[("vince", "The bakery is Holt's"), ("may", "Nice")])
    row, scripted = judge(
        window,
        {
            "pass_1": pass_1(unknown_slots=open_slots("PLACE", "TIME")),
            "pass_2": pass_2(
                missing=missing(
                    ("PLACE", "ABSENT_EVERYWHERE"),
                    ("TIME", "PRESENT_IN_WINDOW"),
                    ("BOSS", "ABSENT_FROM_WINDOW"),
                )
            ),
            "attribution_search": settled(
                ("BOSS", False, ""), ("PLACE", True, "The bakery is Holt's")
            ),
        },
    )
    assert [(item.slot, item.attribution, item.evidence) for item in row.missing] == [
        ("PLACE", "ABSENT_FROM_WINDOW", "The bakery is Holt's"),
        ("TIME", "PRESENT_IN_WINDOW", "TIME in window"),
        ("BOSS", "ABSENT_EVERYWHERE", "BOSS in window"),
    ]
    assert (row.attribution_scope, row.attribution_unjudged) == ("conversation", None)
    assert row.calls[-1].purpose == "premise.attribution_search"
    (search,) = scripted.asked("attribution_search")
    lines = search.user.split("<open_slots>\n")[1].split("\n</open_slots>")[0].splitlines()
    assert [json.loads(line) for line in lines] == [
        {"slot": "PLACE", "why": "PLACE is open"},  # the blind reader's words
        {"slot": "BOSS", "why": "BOSS in window"},  # pass 2 alone opened it
    ]
    assert "The bakery is Holt's" in search.user
    assert "I start at the bakery on Monday" not in search.user
    # Pass 2's own reading stays on the row as it was given.
    assert row.pass_2 is not None
    assert row.pass_2.missing[0].attribution == "ABSENT_EVERYWHERE"


def test_slots_of_the_same_name_are_told_apart_by_their_order(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    row, _ = judge(
        make_window(earlier=["It was in May"]),
        {
            "pass_1": pass_1(unknown_slots=open_slots("TIME")),
            "pass_2": pass_2(missing=missing(*[("TIME", "ABSENT_EVERYWHERE")] * 2)),
            "attribution_search": settled(("TIME", False, ""), ("TIME", True, "in May")),
        },
    )
    assert [item.attribution for item in row.missing] == [
        "ABSENT_EVERYWHERE",
        "ABSENT_FROM_WINDOW",
    ]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (REFUSED, "refused"),
        ("{}", "invalid_output"),
        (settled(), "invalid_output"),
        (settled(("place", False, "")), "invalid_output"),
        (settled(("PLACE", False, ""), ("PLACE", False, "")), "invalid_output"),
        (settled(("PLACE", False, ""), ("TIME", False, "")), "invalid_output"),
        (settled(("PLACE", True, "  ")), "invalid_output"),
    ],
)
def test_without_a_usable_search_pass_2s_reading_stands(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers, reply: Reply, reason: str
) -> None:
    row, _ = judge(
        make_window(earlier=["Hello"]),
        {
            "pass_1": pass_1(unknown_slots=open_slots("PLACE")),
            "pass_2": pass_2(missing=missing(("PLACE", "ABSENT_FROM_WINDOW"))),
            "attribution_search": reply,
        },
    )
    assert row.outcome == "unsound"
    assert [item.attribution for item in row.missing] == ["ABSENT_FROM_WINDOW"]
    assert row.attribution_scope == "window"
    assert row.attribution_unjudged is not None
    assert row.attribution_unjudged.reason == reason


@pytest.mark.parametrize("read_as", ["ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE"])
def test_where_nothing_was_said_earlier_no_call_is_needed(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers, read_as: str
) -> None:
    row, scripted = judge(
        make_window(earlier=[]),
        {
            "pass_1": pass_1(unknown_slots=open_slots("PLACE")),
            "pass_2": pass_2(missing=missing(("PLACE", read_as))),
        },
    )
    assert [item.attribution for item in row.missing] == ["ABSENT_EVERYWHERE"]
    assert (row.attribution_scope, row.attribution_unjudged) == ("conversation", None)
    assert scripted.asked("attribution_search") == []


@pytest.mark.parametrize(
    ("earlier", "changed_1", "attribution"),
    [
        (None, {"unknown_slots": open_slots("PLACE")}, "ABSENT_FROM_WINDOW"),
        (["Hello"], {"unknown_slots": open_slots("PLACE")}, "PRESENT_IN_WINDOW"),
        (["Hello"], {}, "ABSENT_EVERYWHERE"),
    ],
    ids=["trace without the earlier conversation", "nothing absent", "sound"],
)
def test_the_search_is_not_made_where_it_could_settle_nothing(
    make_window: MakeWindow,
    pass_1: Answers,
    pass_2: Answers,
    *,
    earlier: list[str] | None,
    changed_1: dict[str, Any],
    attribution: str,
) -> None:
    row, scripted = judge(
        make_window(earlier=earlier),
        {
            "pass_1": pass_1(**changed_1),
            "pass_2": pass_2(missing=missing(("PLACE", attribution))),
        },
    )
    assert scripted.asked("attribution_search") == []
    assert [item.attribution for item in row.missing] == [attribution]
    assert row.attribution_scope == "window"


def test_slots_that_pass_2_does_not_mention_are_not_invented(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    row, scripted = judge(
        make_window(earlier=["Hello"]),
        {"pass_1": pass_1(unknown_slots=open_slots("TIME")), "pass_2": pass_2()},
    )
    assert row.outcome == "unsound"
    assert (row.missing, row.attribution_scope) == ((), None)
    assert len(scripted.requests) == 3


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
    script: dict[str, Reply | Callable[[JudgeRequest], Reply]] = {
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
    scripted = ScriptedJudge({"pass_1": pass_1(), "pass_2": pass_2()})
    case = case_of(window)
    with pytest.raises(IsolationError, match="My first day is Monday!") as caught:
        asyncio.run(case.evaluate(scripted, context()))
    assert caught.value.where == case.case_id
    assert scripted.asked("pass_1") == []
    assert scripted.cancelled == ["minimality"]


def test_cancelling_a_case_cancels_what_it_waits_for(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    scripted = ScriptedJudge(
        {"pass_1": pass_1(), "pass_2": pass_2(), "minimality": minimality_of_all}, turns=100
    )

    async def run() -> None:
        task = asyncio.create_task(case_of(make_window()).evaluate(scripted, context()))
        for _ in range(20):  # far enough for both to be asked, not for either to be answered
            await asyncio.sleep(0)
        assert len(scripted.requests) == 2
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert sorted(scripted.cancelled) == ["minimality", "pass_1"]

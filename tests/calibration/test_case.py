import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from calibration.case import Mode, SpecimenCase, SpecimenRow
from calibration.gallery import Gallery
from calibration.test_gallery import test_both_passes as both_passes_evaluation
from calibration.test_gallery import test_pass_1 as pass_1_evaluation
from evals.errors import CallTimeoutError, IsolationError, JudgeError, RefusedError
from evals.judging.case import RunContext
from evals.judging.judged import Judged
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.premise.render import load_premise_prompts

MakeJudge = Callable[..., Any]

REFUSED = RefusedError("answer 1", "a refusal", "a judgement", "Rephrase.")
TIMEOUT = CallTimeoutError("call 1", "silence", "an answer", "Wait.")


def case_of(gallery: Gallery, mode: Mode, number: int = 0) -> SpecimenCase:
    return SpecimenCase(gallery.specimens[number], mode, load_premise_prompts())


def judge_it(case: SpecimenCase, judge: Judge, context: RunContext) -> SpecimenRow:
    return asyncio.run(case.evaluate(judge, context))


def test_pass_1_alone_asks_nothing_else(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge()
    row = judge_it(case_of(gallery, "pass_1"), judge, context)
    assert [request.purpose for request in judge.requests] == ["premise.pass_1"]
    assert (row.met, row.shortfall, row.outcome) == (True, "", "scored")
    assert row.pass_1 is not None
    assert (row.pass_2, row.verdict, row.missing) == (None, None, ())


def test_both_passes_come_to_a_verdict_without_minimality(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge()
    row = judge_it(case_of(gallery, "both_passes"), judge, context)
    assert [request.purpose for request in judge.requests] == ["premise.pass_1", "premise.pass_2"]
    assert [call.purpose for call in row.calls] == ["premise.pass_1", "premise.pass_2"]
    assert row.verdict is not None
    assert (row.met, row.verdict.sound, row.outcome) == (True, True, "scored")


def test_pass_1_is_blind_and_guarded(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge()
    judge_it(case_of(gallery, "both_passes"), judge, context)
    blind, sighted = judge.requests
    assert blind.guard is not None
    assert "hives" not in str(blind.params)
    assert "hives" in str(sighted.params)


def test_both_modes_share_one_pass_1_request(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge()
    for mode in ("pass_1", "both_passes"):
        judge_it(case_of(gallery, mode), judge, context)
    alone, of_both, _ = judge.requests
    assert alone.request_hash == of_both.request_hash


def test_a_leak_is_never_swallowed(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge()
    honest = judge.ask

    async def ask(request: Any) -> Any:
        request.params["messages"][0]["content"] += " I'm allergic to penicillin, I get hives."
        return await honest(request)

    judge.ask = ask
    with pytest.raises(IsolationError):
        judge_it(case_of(gallery, "pass_1"), judge, context)


@pytest.mark.parametrize("error", [REFUSED, TIMEOUT])
@pytest.mark.parametrize("mode", ["pass_1", "both_passes"])
def test_without_an_answer_to_pass_1_the_specimen_is_unjudged(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge, mode: Mode, error: JudgeError
) -> None:
    row = judge_it(case_of(gallery, mode), make_judge(error), context)
    assert (row.outcome, row.unjudged_reason, row.met) == ("unjudged", error.reason, False)
    assert (row.pass_1, row.pass_2, row.verdict, row.mismatches) == (None, None, None, ())
    assert f"not judged ({error.reason})" in row.shortfall


def test_without_an_answer_to_pass_2_pass_1_is_kept_and_compared(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge({"decontextuality": 0.5}, REFUSED)
    row = judge_it(case_of(gallery, "both_passes"), judge, context)
    assert row.unjudged_reason == "refused"
    assert row.pass_1 is not None
    assert [item.expectation for item in row.mismatches] == ["pass_1.decontextuality_min"]
    assert len(row.shortfall.splitlines()) == 3


@pytest.mark.parametrize("answer", ["```json\n{}\n```", "{}", "no"])
def test_an_answer_of_another_form_is_unjudged(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge, answer: str
) -> None:
    row = judge_it(case_of(gallery, "pass_1"), make_judge(answer), context)
    assert row.unjudged_reason == "invalid_output"
    assert len(row.calls) == 1


def test_every_mismatch_is_said_with_the_judges_words(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    open_time = [{"slot": "TIME", "why": "none given"}]
    judge = make_judge(
        {"decontextuality": 0.5, "unknown_slots": open_time},
        {"time_status": "UNANCHORED"},
    )
    row = judge_it(case_of(gallery, "both_passes"), judge, context)
    assert row.shortfall.splitlines() == [
        "specimen allergy, both_passes:",
        "  pass_1.decontextuality_min: wanted at least 0.8; the judge said 0.5",
        "  pass_1.unknown_slots: wanted none; the judge said TIME",
        "  pass_2.time_status_in: wanted SELF_ANCHORING; the judge said UNANCHORED",
        "  verdict: wanted pass; the judge said fail because of unknown_slots, time_status",
    ]


def test_the_adjudicated_policy_stands_whatever_policy_the_run_has(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    inferred = [{"element": "lives", "kind": "OVER_INFERENCE", "why": "walked"}]
    judge = make_judge(pass_2={"unsupported_elements": inferred})
    lenient = replace(context, over_inference_fails=False)
    row = judge_it(case_of(gallery, "both_passes", number=1), judge, lenient)
    assert row.verdict is not None
    assert not row.verdict.sound
    assert row.met


def test_a_row_says_what_made_it(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    adaptive = replace(context, settings=JudgeSettings("judge-1", "adaptive"))
    case = case_of(gallery, "pass_1")
    provenance = judge_it(case, make_judge(), adaptive).provenance
    assert provenance.judge_prompt_hashes == {
        "premise/pass_1": case.prompts.pass_1.prompt_hash,
        "premise/pass_2": case.prompts.pass_2.prompt_hash,
        "premise/attribution_search": case.prompts.attribution_search.prompt_hash,
    }
    assert (provenance.judge_model_id, provenance.reasoning_enabled) == ("judge-1", True)
    assert provenance.window_text_hash == case.specimen.as_window.window_text_hash


def test_a_row_survives_json(gallery: Gallery, context: RunContext, make_judge: MakeJudge) -> None:
    row = judge_it(case_of(gallery, "both_passes"), make_judge(), context)
    assert SpecimenRow.model_validate_json(row.model_dump_json(), strict=True) == row


def test_control_characters_of_an_answer_do_not_reach_the_terminal(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge({"unknown_slots": [{"slot": "\x1b[2J", "why": ""}]})
    row = judge_it(case_of(gallery, "pass_1"), judge, context)
    assert not row.met
    assert "\x1b" not in row.shortfall


@pytest.mark.parametrize(
    ("mode", "evaluation"),
    [("pass_1", pass_1_evaluation), ("both_passes", both_passes_evaluation)],
)
def test_the_evaluation_fails_hard_on_what_is_not_met(
    gallery: Gallery,
    context: RunContext,
    make_judge: MakeJudge,
    mode: Mode,
    evaluation: Callable[[Judged], None],
) -> None:
    case = case_of(gallery, mode)
    evaluation(judge_it(case, make_judge(), context).judged)
    wrong = judge_it(case, make_judge({"decontextuality": 0.5}), context)
    with pytest.raises(AssertionError, match=r"wanted at least 0\.8; the judge said 0.5"):
        evaluation(wrong.judged)
    with pytest.raises(AssertionError, match=r"not judged \(refused\)"):
        evaluation(judge_it(case, make_judge(REFUSED), context).judged)

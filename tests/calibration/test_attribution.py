import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from calibration.case import SpecimenCase, SpecimenRow
from calibration.gallery import SHIPPED_GALLERY, Gallery, load_gallery
from calibration.stamp import left_out
from calibration.test_gallery import test_both_passes as both_passes_evaluation
from evals.errors import CallTimeoutError, JudgeError, RefusedError, WrongModelError
from evals.judging.asking import CallLog
from evals.judging.case import RunContext
from evals.premise.judge import Passes, attribute_missing, judge_conclusion
from evals.premise.render import PURPOSES as ALL_PURPOSES
from evals.premise.render import load_premise_prompts

MakeJudge = Callable[..., Any]

SLOT = "OBJECT_OR_CONTENT"
BLIND = {"unknown_slots": [{"slot": SLOT, "why": "what was booked is not said"}]}
PURPOSES = ["premise.pass_1", "premise.pass_2"]
SEARCH = "premise.attribution_search"
REFUSED = RefusedError("answer 1", "a refusal", "a judgement", "Rephrase.")
TIMEOUT = CallTimeoutError("call 1", "silence", "an answer", "Wait.")


def read_as(attribution: str, slot: str = SLOT) -> dict[str, Any]:
    return {"missing": [{"slot": slot, "attribution": attribution, "evidence": "as read"}]}


def said(evidence: str, slot: str = SLOT) -> dict[str, Any]:
    item = {"slot": slot, "said_earlier": bool(evidence), "evidence": evidence}
    return {"slots": [item]}


def case_of(gallery: Gallery, specimen_id: str, mode: Any = "both_passes") -> SpecimenCase:
    (specimen,) = [item for item in gallery.specimens if item.id == specimen_id]
    return SpecimenCase(specimen, mode, load_premise_prompts())


def judge_it(case: SpecimenCase, judge: Any, context: RunContext) -> SpecimenRow:
    return asyncio.run(case.evaluate(judge, context))


def purposes(judge: Any) -> list[str]:
    return [request.purpose for request in judge.requests]


@pytest.mark.parametrize("first", ["ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE"])
def test_the_search_decides_whatever_pass_2_took_an_absent_slot_for(
    searched: Gallery, context: RunContext, make_judge: MakeJudge, first: str
) -> None:
    case = case_of(searched, "booked-what")
    judge = make_judge(BLIND, read_as(first), said("the blue room"))
    row = judge_it(case, judge, context)
    assert purposes(judge) == [*PURPOSES, SEARCH]
    assert [call.purpose for call in row.calls] == [*PURPOSES, SEARCH]
    (slot,) = row.missing
    assert (slot.attribution, slot.evidence) == ("ABSENT_FROM_WINDOW", "the blue room")
    assert (row.outcome, row.met) == ("scored", True)
    both_passes_evaluation(row.judged)


def test_the_search_is_given_the_earlier_talk_and_the_passes_are_not(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND, read_as("ABSENT_EVERYWHERE"), said("the blue room"))
    judge_it(case_of(searched, "booked-what"), judge, context)
    blind, sighted, search = (str(request.params) for request in judge.requests)
    assert "blue room" not in blind + sighted
    assert "blue room" in search
    assert "what was booked is not said" in search
    assert "Booked it, sam." not in search


def test_a_search_that_finds_otherwise_is_a_mismatch(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND, read_as("ABSENT_FROM_WINDOW"), said(""))
    case = case_of(searched, "booked-what")
    row = judge_it(case, judge, context)
    first, second = row.shortfall.splitlines()
    assert first == "specimen booked-what, both_passes:"
    assert second == (
        "  attribution: wanted OBJECT_OR_CONTENT ABSENT_FROM_WINDOW among them; "
        "the judge said OBJECT_OR_CONTENT ABSENT_EVERYWHERE"
    )
    with pytest.raises(AssertionError, match="attribution: wanted"):
        both_passes_evaluation(row.judged)


def test_a_slot_present_in_the_window_is_not_searched_for(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND, read_as("PRESENT_IN_WINDOW"))
    row = judge_it(case_of(searched, "booked-what"), judge, context)
    assert purposes(judge) == PURPOSES
    assert [item.said for item in row.mismatches] == ["OBJECT_OR_CONTENT PRESENT_IN_WINDOW"]


def test_where_nothing_was_said_earlier_no_call_is_needed(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND, read_as("ABSENT_FROM_WINDOW"))
    row = judge_it(case_of(searched, "opens-the-talk"), judge, context)
    assert purposes(judge) == PURPOSES
    assert [item.attribution for item in row.missing] == ["ABSENT_EVERYWHERE"]
    assert row.met


def test_without_earlier_pass_2s_reading_stands_unsearched(
    gallery: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND, read_as("ABSENT_FROM_WINDOW"))
    row = judge_it(case_of(gallery, "bare-yes"), judge, context)
    assert purposes(judge) == PURPOSES
    assert [item.attribution for item in row.missing] == ["ABSENT_FROM_WINDOW"]
    assert row.met


def test_pass_1_alone_searches_for_nothing(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND)
    row = judge_it(case_of(searched, "booked-what", "pass_1"), judge, context)
    assert purposes(judge) == ["premise.pass_1"]
    assert (row.missing, row.met) == ((), True)


def test_a_conclusion_that_passes_against_its_verdict_lacks_its_attribution_too(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(pass_2=read_as("ABSENT_FROM_WINDOW"))  # what is wanted, but not searched for
    row = judge_it(case_of(searched, "booked-what"), judge, context)
    assert purposes(judge) == PURPOSES
    assert row.outcome == "scored"
    assert [item.expectation for item in row.mismatches] == [
        "pass_1.unknown_slots_include",
        "verdict",
        "attribution",
    ]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (REFUSED, "refused"),
        (TIMEOUT, "timeout"),
        ("{}", "invalid_output"),
        ({"slots": []}, "invalid_output"),
        (said("the blue room", slot="PLACE"), "invalid_output"),
        ({"slots": [{"slot": SLOT, "said_earlier": True, "evidence": " "}]}, "invalid_output"),
    ],
)
def test_without_an_answer_to_the_search_the_specimen_is_unjudged(
    searched: Gallery,
    context: RunContext,
    make_judge: MakeJudge,
    reply: dict[str, Any] | str | JudgeError,
    reason: str,
) -> None:
    # Pass 2 alone came to what is wanted: that must not stand in for the search.
    case = case_of(searched, "booked-what")
    row = judge_it(case, make_judge(BLIND, read_as("ABSENT_FROM_WINDOW"), reply), context)
    assert (row.outcome, row.unjudged_reason, row.met) == ("unjudged", reason, False)
    assert row.verdict is not None
    assert not row.verdict.sound
    assert (row.missing, row.mismatches) == ((), ())
    assert left_out([row], searched)[1] == "booked-what (both_passes)"
    with pytest.raises(AssertionError, match=rf"not judged \({reason}\)"):
        both_passes_evaluation(row.judged)


def test_what_the_passes_fell_short_of_is_said_beside_a_search_without_an_answer(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    blind = {"unknown_slots": [{"slot": "TIME", "why": ""}]}
    judge = make_judge(blind, read_as("ABSENT_EVERYWHERE", slot="TIME"), REFUSED)
    row = judge_it(case_of(searched, "booked-what"), judge, context)
    assert row.unjudged_reason == "refused"
    assert [item.expectation for item in row.mismatches] == ["pass_1.unknown_slots_include"]


def test_another_model_in_the_search_stops_the_session(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND, read_as("ABSENT_FROM_WINDOW"))
    honest = judge.ask

    async def ask(request: Any) -> Any:
        if request.purpose == SEARCH:
            raise WrongModelError("here", "this", "that", "Stop.")
        return await honest(request)

    judge.ask = ask
    with pytest.raises(WrongModelError):
        judge_it(case_of(searched, "booked-what"), judge, context)


def test_a_specimen_is_attributed_as_a_conclusion_of_a_trace_is(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    case = case_of(searched, "booked-what")
    of_specimen, of_trace = (
        make_judge(BLIND, read_as("ABSENT_EVERYWHERE"), said("the blue room")) for _ in range(2)
    )
    of_trace.script["premise.minimality"] = REFUSED
    row = judge_it(case, of_specimen, context)
    traced = asyncio.run(judge_conclusion(case.premise_case, of_trace, context))
    assert row.missing == traced.missing
    (search,) = [item for item in of_trace.requests if item.purpose == SEARCH]
    assert of_specimen.requests[-1].request_hash == search.request_hash


def test_a_row_with_an_attribution_survives_json(
    searched: Gallery, context: RunContext, make_judge: MakeJudge
) -> None:
    judge = make_judge(BLIND, read_as("ABSENT_FROM_WINDOW"), said("the blue room"))
    row = judge_it(case_of(searched, "booked-what"), judge, context)
    assert row.missing
    assert SpecimenRow.model_validate_json(row.model_dump_json(), strict=True) == row


@pytest.mark.parametrize(
    ("specimen_id", "slot", "reading", "found", "attribution"),
    [
        ("settled-in-an-earlier-talk", SLOT, "ABSENT_EVERYWHERE", "our treasurer", "ABSENT_FROM"),
        ("never-said-by-anyone", SLOT, "ABSENT_FROM_WINDOW", "", "ABSENT_EVERYWHERE"),
        ("two-candidates-earlier", "PLACE", "ABSENT_FROM_WINDOW", "", "ABSENT_EVERYWHERE"),
        ("pronoun-named-in-the-same-window", "SUBJECT", "PRESENT_IN_WINDOW", None, "PRESENT_IN"),
    ],
)
def test_the_shipped_specimens_are_searched_exactly_where_a_slot_is_absent(
    context: RunContext,
    make_judge: MakeJudge,
    specimen_id: str,
    slot: str,
    reading: str,
    found: str | None,
    attribution: str,
) -> None:
    case = case_of(load_gallery(SHIPPED_GALLERY), specimen_id)
    assert case.specimen.earlier
    blind = {"unknown_slots": [{"slot": slot, "why": "open"}], "decontextuality": 0.4}
    # None: a search would end in an error, so that one made all the same is seen.
    search = REFUSED if found is None else said(found, slot)
    judge = make_judge(blind, read_as(reading, slot), search)
    row = judge_it(case, judge, context)
    assert purposes(judge) == PURPOSES + ([] if found is None else [SEARCH])
    assert row.met, row.shortfall
    (item,) = row.missing
    assert item.attribution.startswith(attribution)


def test_attribution_can_be_used_by_itself(
    searched: Gallery,
    context: RunContext,
    make_judge: MakeJudge,
    pass_1: Callable[..., Any],
    pass_2: Callable[..., Any],
) -> None:
    case = case_of(searched, "booked-what").premise_case
    judge = make_judge(search=REFUSED)
    log = CallLog(judge, ALL_PURPOSES)
    blind, sighted = pass_1(**BLIND), pass_2(**read_as("ABSENT_EVERYWHERE"))
    # Without a verdict nothing has failed, so nothing is searched for.
    unjudged = Passes(blind, sighted, None, None)
    found = asyncio.run(attribute_missing(case, unjudged, log, context.settings))
    assert (found.scope, found.unjudged, judge.requests) == ("window", None, [])
    nothing = Passes(None, None, None, None)
    found = asyncio.run(attribute_missing(case, nothing, log, context.settings))
    assert (found.missing, found.scope, judge.requests) == ((), None, [])

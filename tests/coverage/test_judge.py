"""judge_window over a scripted judge: the whole row, the calls, and what each failure leaves."""

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from evals.coverage.calls import CALLS_A_WINDOW
from evals.coverage.case import coverage_cases
from evals.coverage.metrics import CoverageSummary, coverage_summary
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.row import CoverageRow
from evals.errors import CallTimeoutError, IsolationError, RefusedError, WrongModelError
from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest
from evals.policy import CoveragePolicy
from evals.records import Window
from tests.coverage.helpers import Reply, ScriptedJudge, inside

MakeWindow = Callable[..., Window]
REFUSED = RefusedError("answer", "a refusal", "a judgement", "Look at it.")
LATE = CallTimeoutError("request", "no answer", "an answer", "Run again.")
MESSAGES = ("I start at the bakery on Monday", "I am allergic to sesame", "my aunt Odile rows")
GOLD = (
    ("vince starts at the bakery on 2026-06-08", "IMPORTANT", "start at the bakery"),
    ("vince is allergic to sesame", "CRITICAL", "allergic to sesame"),
    ("vince's aunt Odile rows", "MINOR", "my aunt Odile rows"),
)
ENOUGH = ("vince starts at the bakery on 2026-06-08", "vince is allergic to sesame")


def gold_of_all(request: JudgeRequest) -> dict[str, Any]:
    spoken = " ".join(item["text"] for item in inside(request, "window"))
    facts = [
        {
            "peer_id": "vince",
            "fact": fact,
            "category": "WORK",
            "importance": importance,
            "requires_inference": False,
            "source_span": span,
            "licensed_inference": "something follows",
        }
        for fact, importance, span in GOLD
        if span in spoken
    ]
    return {"facts": facts}


def match_by_text(request: JudgeRequest) -> dict[str, Any]:
    """COVERED by every conclusion with the same text, PARTIAL by those that share its end."""
    conclusions = inside(request, "conclusions")
    matches = []
    for item in inside(request, "gold_facts"):
        same = [one["conclusion_id"] for one in conclusions if one["text"] == item["fact"]]
        end = item["fact"].split()[-1]
        like = [one["conclusion_id"] for one in conclusions if one["text"].split()[-1] == end]
        status = "COVERED" if same else "PARTIAL" if like else "MISSING"
        matches.append(
            {"gold_id": item["gold_id"], "status": status, "covering": same or like, "why": ""}
        )
    return {"matches": matches}


def topic_by_end(request: JudgeRequest) -> dict[str, Any]:
    items = inside(request, "statements")
    topics = [{"item_id": one["item_id"], "topic": one["text"].split()[-1]} for one in items]
    return {"topics": topics}


def answer_by_text(request: JudgeRequest) -> dict[str, Any]:
    for one in inside(request, "notes"):
        if "allergic" in one["text"]:
            answer = one["text"].split()[-1]
            return {"answer": answer, "conclusion_ids": [one["id"]]}
    return {"answer": "UNANSWERABLE", "conclusion_ids": []}


SCRIPT: Mapping[str, Reply | Callable[[JudgeRequest], Reply]] = {
    "gold": gold_of_all,
    "matching": match_by_text,
    "topics": topic_by_end,
    "question_generation": {
        "questions": [
            {
                "question": "What can vince not eat?",
                "gold_answer": "sesame",
                "source_span": "allergic to sesame",
            }
        ]
    },
    "answering": answer_by_text,
    "comparison": {"comparisons": []},
}


@pytest.fixture
def judge(
    make_window: MakeWindow, prompts: CoveragePrompts, context: RunContext
) -> Callable[..., tuple[CoverageRow, ScriptedJudge]]:
    def run(
        conclusions: Sequence[str] = ENOUGH,
        *,
        messages: Sequence[str] = MESSAGES,
        turns: int = 1,
        window: Window | None = None,
        **changed: Any,
    ) -> tuple[CoverageRow, ScriptedJudge]:
        (case,) = coverage_cases([window or make_window(messages, conclusions)], prompts)
        scripted = ScriptedJudge({**SCRIPT, **changed}, turns=turns)
        return asyncio.run(case.evaluate(scripted, context)), scripted

    return run


JudgeIt = Callable[..., tuple[CoverageRow, ScriptedJudge]]


def test_a_window_gets_a_full_row(judge: JudgeIt) -> None:
    row, scripted = judge()
    first, second = row.conclusion_ids
    assert (row.outcome, row.unjudged, row.case_id, row.window_id) == ("scored", None, "w1", "w1")
    assert (row.gold_source, row.dropped, row.matching_unjudged) == ("judge", (), None)
    assert row.gold is not None
    assert [(fact.gold_id, fact.status, fact.covering, fact.topic) for fact in row.gold] == [
        ("g1", "COVERED", (first,), "2026-06-08"),
        ("g2", "COVERED", (second,), "sesame"),
        ("g3", "MISSING", (), "rows"),
    ]
    assert row.conclusion_topics == {first: "2026-06-08", second: "sesame"}
    assert row.questions is not None
    assert [question.grade for question in row.questions] == ["ANSWERABLE_CORRECT"]
    assert scripted.purposes == ["answering", "gold", "matching", "question_generation", "topics"]
    assert CoverageRow.model_validate_json(row.model_dump_json()) == row


def test_a_row_lists_its_calls_in_one_order_whatever_came_first(judge: JudgeIt) -> None:
    row, _ = judge()
    slow, _ = judge(turns=7)
    order = list(CALLS_A_WINDOW)
    places = [order.index(call.purpose) for call in row.calls]
    assert places == sorted(places)
    assert slow.calls == row.calls


def test_provenance_is_complete(judge: JudgeIt, prompts: CoveragePrompts) -> None:
    row, _ = judge()
    said = row.provenance
    assert (said.run_id, said.bench_version, said.judge_model_id) == ("run-1", "0.1.0", "judge-1")
    assert said.judge_prompt_hashes == prompts.hashes()
    assert {call.prompt_hash for call in row.calls} <= set(said.judge_prompt_hashes.values())
    assert said.window_message_ids == ("m1", "m2", "m3")
    assert (said.peer_id, said.dataset_shape) == ("vince", "production")
    assert (said.deriver_model_id, said.git_commit, said.git_dirty) == ("deriver-1", "abc", True)


@pytest.mark.parametrize("conclusions", [(), ENOUGH[:1], ENOUGH, ENOUGH * 3])
@pytest.mark.parametrize("messages", [("hello",), MESSAGES])
def test_a_window_costs_no_more_calls_than_stated(
    judge: JudgeIt, conclusions: Sequence[str], messages: Sequence[str]
) -> None:
    _, scripted = judge(conclusions, messages=messages)
    for purpose, allowed in CALLS_A_WINDOW.items():
        asked = len(scripted.asked(purpose.removeprefix("coverage.")))
        assert allowed.least <= asked <= allowed.most, purpose


def test_a_window_without_conclusions_has_missed_everything(judge: JudgeIt) -> None:
    row, scripted = judge(())
    assert row.gold is not None
    assert [fact.status for fact in row.gold] == ["MISSING"] * 3
    assert row.outcome == "scored"
    assert scripted.purposes == ["gold", "question_generation", "topics"]
    summary = coverage_summary([row], CoveragePolicy())
    assert (summary.coverage_explicit.value, summary.coverage_explicit.n) == (0, 3)
    assert summary.qa_unanswerable_rate.value == 1


def test_a_window_without_gold_facts_is_scored_and_has_no_coverage(judge: JudgeIt) -> None:
    row, scripted = judge(messages=("hello",), question_generation={"questions": []})
    assert (row.outcome, row.gold) == ("scored", ())
    assert scripted.asked("matching") == []
    assert row.conclusion_topics is not None
    assert coverage_summary([row], CoveragePolicy()).coverage_explicit.value is None


def test_without_gold_the_row_is_unjudged_and_keeps_its_questions(judge: JudgeIt) -> None:
    row, scripted = judge(gold=REFUSED)
    assert (row.outcome, row.unjudged_reason) == ("unjudged", "refused")
    assert (row.gold, row.gold_source, row.dropped) == (None, None, ())
    assert (row.conclusion_topics, row.topics_unjudged, row.matching_unjudged) == (None,) * 3
    assert row.questions is not None
    assert scripted.purposes == ["answering", "gold", "question_generation"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(LATE, "timeout"), ({"matches": []}, "invalid_output"), ("no JSON", "invalid_output")],
)
def test_without_matching_the_row_is_unjudged_and_keeps_gold_without_statuses(
    judge: JudgeIt, reply: Reply, reason: str
) -> None:
    row, _ = judge(matching=reply)
    assert (row.outcome, row.unjudged_reason) == ("unjudged", reason)
    assert row.matching_unjudged == row.unjudged
    assert row.gold is not None
    assert [fact.status for fact in row.gold] == [None] * 3
    assert [fact.topic for fact in row.gold] == ["2026-06-08", "sesame", "rows"]
    share = coverage_summary([row], CoveragePolicy()).coverage_explicit
    assert (share.value, share.n, share.unjudged) == (None, 0, 3)


def test_without_topics_the_row_is_scored_and_says_so(judge: JudgeIt) -> None:
    row, _ = judge(topics={"topics": []})
    assert row.outcome == "scored"
    assert row.topics_unjudged is not None
    assert row.topics_unjudged.reason == "invalid_output"
    assert row.conclusion_topics is None
    assert row.gold is not None
    assert {fact.topic for fact in row.gold} == {None}
    assert row.gold[0].status == "COVERED"


def test_without_questions_the_row_is_scored_and_says_so(judge: JudgeIt) -> None:
    row, _ = judge(question_generation=REFUSED)
    assert (row.outcome, row.questions) == ("scored", None)
    assert row.questions_unjudged is not None
    assert row.questions_unjudged.reason == "refused"


@pytest.mark.parametrize(
    "purpose", ["gold", "matching", "topics", "question_generation", "answering"]
)
@pytest.mark.parametrize("error_type", [IsolationError, WrongModelError])
def test_what_stops_the_session_is_never_made_a_row(
    judge: JudgeIt, purpose: str, error_type: type[Exception]
) -> None:
    with pytest.raises(error_type, match="here: found this"):
        judge(**{purpose: error_type("here", "this", "that", "Stop.")})


def test_cancelling_a_case_cancels_what_it_waits_for(
    make_window: MakeWindow, prompts: CoveragePrompts, context: RunContext
) -> None:
    (case,) = coverage_cases([make_window(MESSAGES, ENOUGH)], prompts)
    scripted = ScriptedJudge(SCRIPT, turns=100)

    async def run() -> None:
        task = asyncio.create_task(case.evaluate(scripted, context))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert sorted(scripted.cancelled) == ["gold", "question_generation"]


SETS = [
    *ENOUGH,
    "vince has an aunt who rows",  # a part of the third fact
    "vince likes tea",
]


def summary_of(judge: JudgeIt, conclusions: Sequence[str]) -> CoverageSummary:
    return coverage_summary([judge(conclusions)[0]], CoveragePolicy())


def coverage(judge: JudgeIt, conclusions: Sequence[str]) -> float:
    value = summary_of(judge, conclusions).coverage_explicit.value
    assert value is not None
    return value


def test_known_sets_have_known_coverage(judge: JudgeIt) -> None:
    assert coverage(judge, SETS) == pytest.approx((2 + 4 + 0.5) / 7)
    assert coverage(judge, SETS[:1]) == pytest.approx(2 / 7)
    assert coverage(judge, SETS[3:]) == 0


@pytest.mark.parametrize("dropped", range(len(SETS)))
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_dropping_a_conclusion_never_raises_coverage(
    judge: JudgeIt, size: int, dropped: int
) -> None:
    for kept in itertools.combinations(SETS, size):
        fewer = [text for text in kept if text != SETS[dropped]]
        assert coverage(judge, fewer) <= coverage(judge, kept)


@pytest.mark.parametrize("doubled", SETS)
def test_a_duplicate_never_raises_coverage(judge: JudgeIt, doubled: str) -> None:
    for kept in (SETS, [doubled]):
        assert coverage(judge, [*kept, doubled]) == coverage(judge, kept)


@pytest.mark.parametrize("order", list(itertools.permutations(SETS)))
def test_the_order_of_conclusions_changes_nothing(judge: JudgeIt, order: Sequence[str]) -> None:
    # Requests differ, so their hashes do; nothing that is measured does.
    def measured(conclusions: Sequence[str]) -> dict[str, Any]:
        return summary_of(judge, conclusions).model_dump()

    assert measured(order) == measured(SETS)

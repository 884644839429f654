"""ask_questions over a scripted judge: what is asked, dropped, graded, and left unjudged."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from evals.coverage.calls import CALLS_A_WINDOW, MAX_QUESTIONS, PURPOSES
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.qa import QaResult, ask_questions
from evals.coverage.row import Question
from evals.errors import IsolationError, RefusedError, WrongModelError
from evals.judging.asking import CallLog
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse
from evals.records import Window
from tests.coverage.helpers import Reply, ScriptedJudge, inside

MakeWindow = Callable[..., Window]
REFUSED = RefusedError("answer", "a refusal", "a judgement", "Look at it.")
MESSAGES = (
    "I start at the bakery on Quay Road on Monday",
    "my sister Odile lent me 300 euros for it",
    ("may", "did you sell the boat?"),
    "yes, to a dentist in Ghent",
)
CONCLUSIONS = (
    "vince starts at the bakery on 2026-06-08",
    "vince's sister Odile lent him 300 euros",
    "vince sold his boat to a doctor",
)
WHERE = {
    "question": "Where does vince start to work on 2026-06-08?",
    "gold_answer": "the bakery",
    "source_span": "at the bakery",
}
WHO = {
    "question": "Who lent vince money for his start?",
    "gold_answer": "his sister Odile",
    "source_span": "my sister Odile lent me 300 euros",
}
BUYER = {
    "question": "What is the profession of the buyer of vince's boat?",
    "gold_answer": "dentist",
    "source_span": "to a dentist in Ghent",
}


@dataclass(frozen=True)
class Case:
    """What the QA path needs of a window's case."""

    window: Window
    prompts: CoveragePrompts
    peers: tuple[str, ...] = ("vince",)
    case_id: str = "w1"


Ask = Callable[..., tuple[QaResult, ScriptedJudge]]


@pytest.fixture
def ask(make_window: MakeWindow, prompts: CoveragePrompts, settings: JudgeSettings) -> Ask:
    def ask_with(
        questions: list[dict[str, str]] | Reply,
        answers: Mapping[str, Reply] | None = None,
        same: Mapping[str, bool] | Reply | None = None,
        *,
        conclusions: tuple[str, ...] = CONCLUSIONS,
    ) -> tuple[QaResult, ScriptedJudge]:
        window = make_window(MESSAGES, conclusions)

        def answer(request: JudgeRequest) -> Reply:
            reply = (answers or {})[inside(request, "question")[0]]
            if isinstance(reply, dict):
                named = [window.conclusions[number].conclusion_id for number in reply["from"]]
                return {"answer": reply["answer"], "conclusion_ids": named}
            return reply

        def compare(request: JudgeRequest) -> Reply:
            if not isinstance(same, Mapping) or "comparisons" in same:
                assert isinstance(same, str | Exception | dict)
                return same
            pairs = inside(request, "answers")
            named = [pair["question_id"] for pair in pairs]
            assert named == list(same)
            found = [{"question_id": n, "same": same[n], "why": f"{n} why"} for n in named]
            return {"comparisons": found[::-1]}  # any order will do

        judge = ScriptedJudge(
            {
                "question_generation": {"questions": questions}
                if isinstance(questions, list)
                else questions,
                "answering": answer,
                "comparison": compare,
            }
        )
        case = Case(window, prompts)
        log = CallLog(judge, PURPOSES)
        return asyncio.run(ask_questions(case, log, settings)), judge

    return ask_with


def answered(text: str, *numbers: int) -> dict[str, Any]:
    return {"answer": text, "from": numbers}


UNANSWERED = answered("UNANSWERABLE")


def only(result: QaResult) -> Question:
    assert result.questions is not None
    (question,) = result.questions
    return question


def test_every_grade_with_its_grader(ask: Ask) -> None:
    lent = WHO | {"question": "How much did Odile lend vince?", "gold_answer": "300 euros"}
    result, judge = ask(
        [WHERE, WHO, BUYER, lent],
        {
            WHERE["question"]: answered("Bakery.", 0),
            WHO["question"]: answered("Odile, vince's sister", 1),
            BUYER["question"]: answered("doctor", 2),
            lent["question"]: UNANSWERED,
        },
        {"q2": True, "q3": False},
    )
    assert (result.unjudged, result.dropped) == (None, 0)
    assert result.questions is not None
    where, who, buyer, lent_question = result.questions
    assert (where.grade, where.graded_by, where.why) == ("ANSWERABLE_CORRECT", "harness", None)
    assert (who.grade, who.graded_by, who.why) == ("ANSWERABLE_CORRECT", "judge", "q2 why")
    assert (buyer.grade, buyer.graded_by, buyer.why) == ("ANSWERABLE_WRONG", "judge", "q3 why")
    assert (lent_question.grade, lent_question.graded_by) == ("UNANSWERABLE", "harness")
    assert (lent_question.written_answer, lent_question.conclusion_ids) == ("UNANSWERABLE", ())
    assert (buyer.written_answer, len(buyer.conclusion_ids)) == ("doctor", 1)
    assert (buyer.question_id, buyer.message_id, buyer.gold_answer) == ("q3", "m4", "dentist")
    assert all(question.unjudged is None for question in result.questions)
    (compared,) = judge.asked("comparison")
    assert inside(compared, "answers")[1] == {
        "question_id": "q3",
        "question": BUYER["question"],
        "reference_answer": "dentist",
        "written_answer": "doctor",
    }


def test_each_question_is_answered_alone_without_its_key(ask: Ask) -> None:
    answers = {item["question"]: UNANSWERED for item in (WHERE, WHO)}
    _, judge = ask([WHERE, WHO], answers)
    one, two = judge.asked("answering")
    for request, other in ((one, WHO), (two, WHERE)):
        assert request.guard is not None
        assert other["question"] not in request.user
        assert len(inside(request, "notes")) == len(CONCLUSIONS)
        forbidden = {text for _, text in request.guard.forbidden.lines}
        assert {WHERE["gold_answer"], WHO["gold_answer"], MESSAGES[0], other["question"]} <= (
            forbidden
        )
        assert not forbidden & set(CONCLUSIONS)
    assert not judge.asked("comparison")


@pytest.mark.parametrize(
    "bad",
    [
        WHERE | {"source_span": "at the brewery"},
        WHERE | {"source_span": " "},
        WHERE | {"question": "Does vince start at a new place?", "gold_answer": "Yes."},
        WHERE | {"question": "Which day does vince start at the bakery?"},
        WHO | {"question": "who lent Vince money for his start"},
    ],
    ids=["span elsewhere", "no span", "yes or no", "gives itself away", "asked before"],
)
def test_a_question_that_can_measure_nothing_is_dropped_and_counted(
    ask: Ask, bad: dict[str, str]
) -> None:
    result, judge = ask([WHO, bad], {WHO["question"]: UNANSWERED})
    assert only(result).question_id == "q1"
    assert result.dropped == 1
    assert len(judge.asked("answering")) == 1


def test_ids_number_the_questions_that_are_kept(ask: Ask) -> None:
    answers = {item["question"]: UNANSWERED for item in (WHO, BUYER)}
    result, _ = ask([WHERE | {"source_span": "nowhere"}, WHO, BUYER], answers)
    assert result.questions is not None
    assert [question.question_id for question in result.questions] == ["q1", "q2"]


def test_no_question_is_an_answer_too(ask: Ask) -> None:
    result, judge = ask([])
    assert (result.questions, result.unjudged, result.dropped) == ((), None, 0)
    assert judge.purposes == ["question_generation"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (REFUSED, "refused"),
        ("no json", "invalid_output"),
        ({"questions": [WHERE] * (MAX_QUESTIONS + 1)}, "invalid_output"),
        ({"questions": [WHERE | {"gold_answer": " ! "}]}, "invalid_output"),
        ({"questions": [WHERE | {"question": ""}]}, "invalid_output"),
        ({"questions": [WHERE | {"hint": "x"}]}, "invalid_output"),
    ],
)
def test_without_usable_questions_there_are_none(ask: Ask, reply: Reply, reason: str) -> None:
    result, judge = ask(reply)
    assert result.questions is None
    assert result.unjudged is not None
    assert (result.unjudged.reason, result.dropped) == (reason, 0)
    assert judge.purposes == ["question_generation"]


def test_without_conclusions_every_question_is_unanswerable_at_no_call(ask: Ask) -> None:
    result, judge = ask([WHERE, WHO], conclusions=())
    assert result.questions is not None
    assert {(item.grade, item.graded_by) for item in result.questions} == {
        ("UNANSWERABLE", "harness")
    }
    assert judge.purposes == ["question_generation"]


INVALID_ANSWERS = {
    "unknown id": {"answer": "the bakery", "conclusion_ids": ["c9"]},
    "no id": answered("the bakery"),
    "an id twice": answered("the bakery", 0, 0),
    "unanswerable with an id": answered("UNANSWERABLE", 0),
    "unanswerable with a stop": answered("Unanswerable."),
    "unanswerable with a reason": answered("UNANSWERABLE: no note says so", 0),
    "no word": answered(" … ", 0),
}


@pytest.mark.parametrize("name", INVALID_ANSWERS)
def test_an_unusable_answer_leaves_its_question_alone_unjudged(ask: Ask, name: str) -> None:
    reply: Any = INVALID_ANSWERS[name]
    if "conclusion_ids" in reply:
        reply = '{"answer": "the bakery", "conclusion_ids": ["c9"]}'
    result, judge = ask(
        [WHERE, BUYER],
        {WHERE["question"]: reply, BUYER["question"]: answered("doctor", 2)},
        {"q2": False},
    )
    assert result.questions is not None
    failed, graded = result.questions
    assert failed.unjudged is not None
    assert failed.unjudged.reason == "invalid_output"
    assert (failed.grade, failed.graded_by, failed.written_answer) == (None, None, None)
    assert failed.conclusion_ids == ()
    assert graded.grade == "ANSWERABLE_WRONG"
    assert len(judge.asked("comparison")) == 1


def test_a_failed_answering_call_is_its_questions_reason(ask: Ask) -> None:
    result, _ = ask(
        [WHERE, WHO], {WHERE["question"]: REFUSED, WHO["question"]: answered("his sister Odile", 1)}
    )
    assert result.questions is not None
    failed, graded = result.questions
    assert failed.unjudged is not None
    assert failed.unjudged.reason == "refused"
    assert graded.grade == "ANSWERABLE_CORRECT"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (REFUSED, "refused"),
        ({"comparisons": []}, "invalid_output"),
        (
            {"comparisons": [{"question_id": "q1", "same": True, "why": ""}]},
            "invalid_output",
        ),
    ],
)
def test_a_failed_comparison_leaves_its_own_pairs_unjudged(
    ask: Ask, reply: Reply, reason: str
) -> None:
    result, _ = ask(
        [WHERE, BUYER],
        {WHERE["question"]: answered("bakery", 0), BUYER["question"]: answered("doctor", 2)},
        reply,
    )
    assert result.questions is not None
    settled, open_pair = result.questions
    assert settled.grade == "ANSWERABLE_CORRECT"
    assert (open_pair.grade, open_pair.graded_by) == (None, None)
    assert open_pair.unjudged is not None
    assert open_pair.unjudged.reason == reason
    assert (open_pair.written_answer, len(open_pair.conclusion_ids)) == ("doctor", 1)


def test_another_model_stops_it(ask: Ask) -> None:
    wrong = WrongModelError("answer", "judge-2", "judge-1", "Pin one.")
    with pytest.raises(WrongModelError):
        ask([WHERE, WHO], {WHERE["question"]: wrong, WHO["question"]: UNANSWERED})


def test_a_leak_stops_it_before_any_answering_request_is_sent(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    class StoppingJudge(ScriptedJudge):
        async def ask(self, request: JudgeRequest) -> JudgeResponse:
            if request.guard is not None:
                request.guard.check(request.params | {"metadata": {"user_id": MESSAGES[0]}})
            sent.append(request.purpose)
            return await super().ask(request)

    monkeypatch.setattr(f"{__name__}.ScriptedJudge", StoppingJudge)
    with pytest.raises(IsolationError, match="a window line"):
        ask([WHERE, WHO], {item["question"]: UNANSWERED for item in (WHERE, WHO)})
    assert sent == ["coverage.question_generation"]


def test_the_stated_number_of_calls_is_kept_at_its_most(ask: Ask) -> None:
    asked = [
        WHERE | {"question": f"Where did vince go on 2026-06-{day:02}?"}
        for day in range(1, MAX_QUESTIONS + 1)
    ]
    answers = {item["question"]: answered("the harbour", 0) for item in asked}
    same = {f"q{number}": False for number in range(1, MAX_QUESTIONS + 1)}
    _, judge = ask(asked, answers, same)
    for purpose in ("question_generation", "answering", "comparison"):
        made = len(judge.asked(purpose))
        assert made == CALLS_A_WINDOW[f"coverage.{purpose}"].most, purpose

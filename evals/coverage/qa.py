"""Generative QA (3.4): questions from the window, answers from the conclusions alone, then grades.

The path beside gold and matching: it does not inherit the blind spots of the gold extraction.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from evals.coverage.calls import MAX_QUESTIONS
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.qa_render import (
    AnswerPair,
    SourcedQuestion,
    answering_forbidden,
    answering_guard,
    answering_request,
    comparison_request,
    question_generation_request,
    source_lines,
)
from evals.coverage.question_filters import is_yes_or_no, quotes_source
from evals.coverage.row import Question
from evals.coverage.same_answer import gives_away, same_answer, words_of
from evals.coverage.schema import (
    UNANSWERABLE,
    Comparison,
    ComparisonAnswer,
    QuestionAnswer,
    WrittenAnswer,
)
from evals.coverage.spans import message_with
from evals.errors import InvalidOutputError, JudgeError
from evals.judging.asking import Answered, CallLog, answer_place, check_names
from evals.judging.request import JudgeSettings
from evals.records import Message, Unjudged, Window
from evals.untrusted import for_terminal


class QaCase(Protocol):
    """What the QA path needs of a window's case."""

    @property
    def window(self) -> Window:
        """The exact messages that the deriver saw."""
        ...

    @property
    def case_id(self) -> str:
        """For messages."""
        ...

    @property
    def peers(self) -> tuple[str, ...]:
        """Whom to ask about."""
        ...

    @property
    def prompts(self) -> CoveragePrompts:
        """The run's."""
        ...


@dataclass(frozen=True)
class QaResult:
    """The QA path of one window."""

    questions: tuple[Question, ...] | None
    """In the judge's order; None exactly where question generation is unjudged."""
    unjudged: Unjudged | None
    """Why there are no questions; None where there are, be it none at all."""
    dropped: int
    """Questions that the harness refused: see ``sourced_questions``."""


async def ask_questions(case: QaCase, log: CallLog, settings: JudgeSettings) -> QaResult:
    """Set questions about a window, have its conclusions answer them, grade the answers.

    One call sets at most ``MAX_QUESTIONS`` questions. Then ONE CALL A QUESTION, and not one for the
    window: side by side in one call, questions leak into one another, for what one asks another can
    presuppose ("Where did she move in 2025?" answers half of "When did she move?"). Last, at most
    one call compares the answers that the harness cannot settle by itself; UNANSWERABLE is settled.

    A question whose answering call gives nothing usable is unjudged alone; a comparison that gives
    nothing usable leaves its own questions unjudged. Never raises ``JudgeError``.

    Raises:
        IsolationError: an answering request held source text or a key; nothing of it was sent.
        WrongModelError: see ``Judge.ask``.
    """
    try:
        asked, dropped = await _ask_generation(case, log, settings)
    except JudgeError as error:
        return QaResult(questions=None, unjudged=Unjudged.of(error), dropped=0)
    written = await _ask_answers(case, asked, log, settings)
    compared = await _ask_comparison(case, asked, written, log, settings)
    questions = tuple(
        _graded(question, written[question.question_id], compared) for question in asked
    )
    return QaResult(questions=questions, unjudged=None, dropped=dropped)


def sourced_questions(
    answer: QuestionAnswer, messages: Sequence[Message]
) -> tuple[tuple[SourcedQuestion, ...], int]:
    """Return the questions that can measure something, and how many cannot.

    Dropped: a source span that is in no message, an answer that is yes or no or stands in its own
    question, a question that quotes the window, and a question that was asked before it.
    """
    kept: list[SourcedQuestion] = []
    seen: set[tuple[str, ...]] = set()
    for item in answer.questions:
        message_id = message_with(item.source_span, messages)
        words = words_of(item.question)
        weak = (
            is_yes_or_no(item.gold_answer)
            or gives_away(item.question, item.gold_answer)
            or quotes_source(item.question, item.source_span, messages)
        )
        if message_id is None or weak or words in seen:
            continue
        seen.add(words)
        kept.append(
            SourcedQuestion(
                question_id=f"q{len(kept) + 1}",
                question=item.question,
                gold_answer=item.gold_answer,
                source_span=item.source_span,
                message_id=message_id,
            )
        )
    return tuple(kept), len(answer.questions) - len(kept)


async def _ask_generation(
    case: QaCase, log: CallLog, settings: JudgeSettings
) -> tuple[tuple[SourcedQuestion, ...], int]:
    messages = case.window.messages
    request = question_generation_request(
        case.case_id, case.peers, messages, settings, case.prompts
    )
    answered = await log.ask(request, QuestionAnswer)
    items = answered.answer.questions
    if len(items) > MAX_QUESTIONS:
        raise _invalid(answered, f"{len(items)} questions", f"at most {MAX_QUESTIONS}")
    for number, item in enumerate(items, 1):
        if not words_of(item.question) or not words_of(item.gold_answer):
            raise _invalid(answered, f"question {number} or its answer empty", "words in both")
    return sourced_questions(answered.answer, messages)


async def _ask_answers(
    case: QaCase, asked: Sequence[SourcedQuestion], log: CallLog, settings: JudgeSettings
) -> dict[str, WrittenAnswer | Unjudged]:
    if not case.window.conclusions:
        nothing = WrittenAnswer(answer=UNANSWERABLE, conclusion_ids=())
        return {question.question_id: nothing for question in asked}
    window_lines = source_lines(case.window)

    async def ask(question: SourcedQuestion) -> WrittenAnswer | Unjudged:
        try:
            return await _ask_answer(case, question, asked, window_lines, log, settings)
        except JudgeError as error:
            return Unjudged.of(error)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [(item.question_id, group.create_task(ask(item))) for item in asked]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # callers know the errors, not the group
    return {question_id: task.result() for question_id, task in tasks}


async def _ask_answer(
    case: QaCase,
    question: SourcedQuestion,
    asked: Sequence[SourcedQuestion],
    window_lines: Sequence[tuple[str, str]],
    log: CallLog,
    settings: JudgeSettings,
) -> WrittenAnswer:
    conclusions = case.window.conclusions
    where = f"{case.case_id}, question {question.question_id}"
    request = answering_request(where, question.question, conclusions, settings, case.prompts)
    others = [item for item in asked if item is not question]
    guard = answering_guard(
        where,
        question.question,
        conclusions,
        answering_forbidden(question, others, window_lines),
        settings,
        case.prompts,
    )
    answered = await log.ask(replace(request, guard=guard), WrittenAnswer)
    _check_written(answered, [item.conclusion_id for item in conclusions])
    return answered.answer


def _check_written(answered: Answered[WrittenAnswer], known: Sequence[str]) -> None:
    answer, named = answered.answer.answer, answered.answer.conclusion_ids
    words = words_of(answer)
    # "Unanswerable." or "UNANSWERABLE: …" would read as an answer, and a wrong one.
    if not words or (words[0] == UNANSWERABLE.casefold() and answer != UNANSWERABLE):
        raise _invalid(
            answered, for_terminal(repr(answer), 60), f"an answer or exactly {UNANSWERABLE}"
        )
    unknown = [name for name in named if name not in known]
    if unknown or len(set(named)) != len(named):
        raise _invalid(
            answered,
            f"conclusion ids {for_terminal(', '.join(named))}",
            "ids of the conclusions given, each once",
        )
    if (answer == UNANSWERABLE) != (not named):
        raise _invalid(
            answered,
            f"{for_terminal(repr(answer), 60)} resting on {len(named)} conclusions",
            f"conclusions behind every answer, and none behind {UNANSWERABLE}",
        )


async def _ask_comparison(
    case: QaCase,
    asked: Sequence[SourcedQuestion],
    written: Mapping[str, WrittenAnswer | Unjudged],
    log: CallLog,
    settings: JudgeSettings,
) -> dict[str, Comparison] | Unjudged:
    pairs = [
        AnswerPair(question.question_id, question.question, question.gold_answer, answer.answer)
        for question in asked
        if isinstance(answer := written[question.question_id], WrittenAnswer)
        and not _is_settled(question, answer)
    ]
    if not pairs:
        return {}
    try:
        answered = await log.ask(
            comparison_request(pairs, settings, case.prompts), ComparisonAnswer
        )
        items = answered.answer.comparisons
        names = [pair.question_id for pair in pairs]
        check_names("question ids", names, [item.question_id for item in items], answered)
    except JudgeError as error:
        return Unjudged.of(error)
    return {item.question_id: item for item in items}


def _is_settled(question: SourcedQuestion, written: WrittenAnswer) -> bool:
    return written.answer == UNANSWERABLE or same_answer(question.gold_answer, written.answer)


def _graded(
    question: SourcedQuestion,
    written: WrittenAnswer | Unjudged,
    compared: Mapping[str, Comparison] | Unjudged,
) -> Question:
    fields: dict[str, Any] = {
        "question_id": question.question_id,
        "question": question.question,
        "gold_answer": question.gold_answer,
        "source_span": question.source_span,
        "message_id": question.message_id,
        "written_answer": None,
        "conclusion_ids": (),
        "grade": None,
        "graded_by": None,
        "why": None,
        "unjudged": None,
    }
    if isinstance(written, Unjudged):
        return Question.model_validate(fields | {"unjudged": written})
    fields |= {"written_answer": written.answer, "conclusion_ids": written.conclusion_ids}
    if written.answer == UNANSWERABLE:
        graded = {"grade": UNANSWERABLE, "graded_by": "harness"}
    elif same_answer(question.gold_answer, written.answer):
        graded = {"grade": "ANSWERABLE_CORRECT", "graded_by": "harness"}
    elif isinstance(compared, Unjudged):
        return Question.model_validate(fields | {"unjudged": compared})
    else:
        judged = compared[question.question_id]
        grade = "ANSWERABLE_CORRECT" if judged.same else "ANSWERABLE_WRONG"
        graded = {"grade": grade, "graded_by": "judge", "why": judged.why}
    return Question.model_validate(fields | graded)


def _invalid(
    answered: Answered[QuestionAnswer] | Answered[WrittenAnswer], found: str, wanted: str
) -> InvalidOutputError:
    return InvalidOutputError(
        answer_place(answered),
        found,
        wanted,
        "Ask again with another --judge-repeat, or check the prompt.",
    )

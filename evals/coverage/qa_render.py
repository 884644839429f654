"""The requests of the QA path (3.4): what each prompt is given, and nothing else.

Everything that strangers wrote goes in as JSON between tags (``evals.untrusted.for_prompt``).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.coverage.calls import (
    ANSWERING_PURPOSE,
    COMPARISON_PURPOSE,
    MAX_QUESTIONS,
    QUESTION_GENERATION_PURPOSE,
)
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.render import THINKING_TOKENS
from evals.coverage.schema import ComparisonAnswer, QuestionAnswer, WrittenAnswer
from evals.judging.isolation import ForbiddenText, Guard, strings_of
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.request_text import user_text
from evals.judging.response import schema_of
from evals.judging.window_text import forbidden_text, json_lines, message_lines
from evals.records import Conclusion, Message, Window
from evals.untrusted import for_prompt

# Token limits bound what a runaway answer can cost and else decide nothing.
QUESTION_GENERATION_MAX_TOKENS = 4_000
"""A usual answer has 100 a question; a span can be a long message's sentence."""
ANSWERING_MAX_TOKENS = 2_000
"""A usual answer has 50; it can rest on many conclusions, some 15 tokens an id."""
COMPARISON_MAX_TOKENS = 2_000
"""Some 60 a pair, and at most ``MAX_QUESTIONS`` pairs."""

_GENERATION_SCHEMA = schema_of(QuestionAnswer)
_ANSWERING_SCHEMA = schema_of(WrittenAnswer)
_COMPARISON_SCHEMA = schema_of(ComparisonAnswer)
_ANSWERING_SCHEMA_STRINGS = tuple(strings_of(_ANSWERING_SCHEMA))


@dataclass(frozen=True)
class SourcedQuestion:
    """A question that passed the harness's filters, with what it is graded by."""

    question_id: str
    question: str
    gold_answer: str
    source_span: str
    message_id: str
    """The message that holds the span."""


@dataclass(frozen=True)
class AnswerPair:
    """A written answer that the harness could not settle by itself."""

    question_id: str
    question: str
    gold_answer: str
    written_answer: str


def question_generation_request(
    where: str,
    peers: Sequence[str],
    messages: Sequence[Message],
    settings: JudgeSettings,
    prompts: CoveragePrompts,
) -> JudgeRequest:
    """Return the request for questions about ``peers`` that the window answers.

    Raises:
        TooLargeError: it is too long (``user_text``); ``where`` names the case.
    """
    values = {
        "peers": for_prompt(list(peers)),
        "most_questions": for_prompt(MAX_QUESTIONS),
        "window": message_lines(messages),
    }
    return JudgeRequest(
        purpose=QUESTION_GENERATION_PURPOSE,
        settings=settings,
        prompt=prompts.question_generation,
        user=user_text(where, prompts.question_generation, values),
        answer_schema=_GENERATION_SCHEMA,
        max_tokens=_limit(QUESTION_GENERATION_MAX_TOKENS, settings),
    )


def answering_request(
    where: str,
    question: str,
    conclusions: Sequence[Conclusion],
    settings: JudgeSettings,
    prompts: CoveragePrompts,
) -> JudgeRequest:
    """Return the request for one answer: takes the question's text, so that no key comes near it.

    Not yet guarded: see ``answering_guard``.

    Raises:
        TooLargeError: it is too long (``user_text``); ``where`` names case and question.
    """
    notes = json_lines({"id": item.conclusion_id, "text": item.text} for item in conclusions)
    values = {"conclusions": notes, "question": for_prompt(question)}
    return JudgeRequest(
        purpose=ANSWERING_PURPOSE,
        settings=settings,
        prompt=prompts.answering,
        user=user_text(where, prompts.answering, values),
        answer_schema=_ANSWERING_SCHEMA,
        max_tokens=_limit(ANSWERING_MAX_TOKENS, settings),
    )


def answering_guard(
    where: str,
    question: str,
    conclusions: Sequence[Conclusion],
    forbidden: ForbiddenText,
    settings: JudgeSettings,
    prompts: CoveragePrompts,
) -> Guard:
    """Return the isolation check of an answering request, made from all but the request itself.

    What the conclusions or the question hold is accounted for, be it a line of the window or the
    gold answer: they are the input. One occurrence more is a leak.

    Args:
        where: the case and the question, for the message.
        question: its text.
        conclusions: the window's.
        forbidden: ``answering_forbidden`` of this question.
        settings: as for the request; the model id is part of what is sent.
        prompts: as for the request.
    """
    notes = "\n".join(
        for_prompt({"id": item.conclusion_id, "text": item.text}) for item in conclusions
    )
    user = prompts.answering.render({"conclusions": notes, "question": for_prompt(question)})
    accounted = (settings.model, prompts.answering.system, user, *_ANSWERING_SCHEMA_STRINGS)
    return Guard(where=where, forbidden=forbidden, accounted=accounted)


def source_lines(window: Window) -> tuple[tuple[str, str], ...]:
    """Return the lines of a window, as ``ForbiddenText.lines``, without its conclusions."""
    return forbidden_text(window.model_copy(update={"conclusions": ()})).lines


def answering_forbidden(
    asked: SourcedQuestion,
    others: Sequence[SourcedQuestion],
    window_lines: Sequence[tuple[str, str]],
) -> ForbiddenText:
    """Return what the answering request of ``asked`` may not hold (3.4).

    Args:
        asked: its gold answer is the key.
        others: the other questions about the window: each can presuppose an answer.
        window_lines: ``source_lines`` of the window.
    """
    keys = [("the gold answer", asked.gold_answer)]
    for other in others:
        keys.append(("another question", other.question))
        keys.append(("the gold answer to another question", other.gold_answer))
    return ForbiddenText(lines=(*keys, *window_lines))


def comparison_request(
    pairs: Sequence[AnswerPair], settings: JudgeSettings, prompts: CoveragePrompts
) -> JudgeRequest:
    """Return the request that compares written answers with gold answers, without any source."""
    lines = json_lines(
        {
            "question_id": pair.question_id,
            "question": pair.question,
            "reference_answer": pair.gold_answer,
            "written_answer": pair.written_answer,
        }
        for pair in pairs
    )
    return JudgeRequest(
        purpose=COMPARISON_PURPOSE,
        settings=settings,
        prompt=prompts.comparison,
        user=prompts.comparison.render({"answers": lines}),
        answer_schema=_COMPARISON_SCHEMA,
        max_tokens=_limit(COMPARISON_MAX_TOKENS, settings),
    )


def _limit(answer_tokens: int, settings: JudgeSettings) -> int:
    return answer_tokens + (THINKING_TOKENS if settings.reasoning == "adaptive" else 0)

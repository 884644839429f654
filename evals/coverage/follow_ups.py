"""What judging a window may still ask, for the plan of a run."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from evals.coverage.calls import (
    ANSWERING_PURPOSE,
    CALLS_A_WINDOW,
    COMPARISON_PURPOSE,
    GOLD_PURPOSE,
    MATCHING_PURPOSE,
    QUESTION_GENERATION_PURPOSE,
    TOPICS_PURPOSE,
)
from evals.coverage.qa_render import answering_request, comparison_request
from evals.coverage.render import (
    MOST_FACTS,
    TOKENS_PER_MATCH,
    TOKENS_PER_TOPIC,
    matching_request,
    topics_request,
)
from evals.errors import TooLargeError
from evals.judging.case import FollowUp
from evals.judging.request import JudgeRequest, JudgeSettings

if TYPE_CHECKING:
    from evals.coverage.case import CoverageCase


def window_follow_ups(
    case: "CoverageCase", missing: Collection[str], settings: JudgeSettings
) -> tuple[FollowUp, ...]:
    """Return the calls after those that are missing; see ``Case.follow_ups``.

    How many is what ``CALLS_A_WINDOW`` says; topics is one call for sure where there are
    conclusions to sort, and without conclusions nothing is matched, answered or compared.
    """
    found: list[FollowUp] = []
    # What does not fit into a request is not asked: its part of the row is unjudged.
    with suppress(TooLargeError):
        if GOLD_PURPOSE in missing:
            found += _after_gold(case, settings)
    with suppress(TooLargeError):
        if case.window.conclusions:
            found += _after_questions(case, missing, settings)
    return tuple(found)


def _after_gold(case: "CoverageCase", settings: JudgeSettings) -> list[FollowUp]:
    conclusions = case.window.conclusions
    items = [(item.conclusion_id, item.text) for item in conclusions]
    topics = topics_request(case.case_id, items, settings, case.prompts.topics)
    fed_by = (GOLD_PURPOSE,)
    found = [
        FollowUp(
            _with_facts(topics, TOKENS_PER_TOPIC),
            least=1 if conclusions else CALLS_A_WINDOW[TOPICS_PURPOSE].least,
            most=CALLS_A_WINDOW[TOPICS_PURPOSE].most,
            fed_by=fed_by,
        )
    ]
    if conclusions:
        matching = matching_request(case.case_id, (), conclusions, settings, case.prompts.matching)
        found.append(
            FollowUp(
                _with_facts(matching, TOKENS_PER_MATCH),
                *CALLS_A_WINDOW[MATCHING_PURPOSE],
                fed_by=fed_by,
            )
        )
    return found


def _after_questions(
    case: "CoverageCase", missing: Collection[str], settings: JudgeSettings
) -> list[FollowUp]:
    found: list[FollowUp] = []
    if QUESTION_GENERATION_PURPOSE in missing:
        answering = answering_request(
            case.case_id, "", case.window.conclusions, settings, case.prompts
        )
        calls = CALLS_A_WINDOW[ANSWERING_PURPOSE]
        found.append(FollowUp(answering, *calls, fed_by=(QUESTION_GENERATION_PURPOSE,)))
    if {QUESTION_GENERATION_PURPOSE, ANSWERING_PURPOSE} & set(missing):
        comparison = comparison_request((), settings, case.prompts)
        calls = CALLS_A_WINDOW[COMPARISON_PURPOSE]
        fed_by = (QUESTION_GENERATION_PURPOSE, ANSWERING_PURPOSE)
        found.append(FollowUp(comparison, *calls, fed_by=fed_by))
    return found


def _with_facts(request: JudgeRequest, tokens_per_fact: int) -> JudgeRequest:
    """Return the request with room in its answer for as many gold facts as there can be."""
    return replace(request, max_tokens=request.max_tokens + MOST_FACTS * tokens_per_fact)

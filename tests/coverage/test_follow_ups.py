"""What judging a window may still ask, against the stated number of calls."""

from collections.abc import Callable

import pytest

from evals.coverage.calls import (
    ANSWERING_PURPOSE,
    CALLS_A_WINDOW,
    COMPARISON_PURPOSE,
    GOLD_PURPOSE,
    MATCHING_PURPOSE,
    MAX_QUESTIONS,
    QUESTION_GENERATION_PURPOSE,
    TOPICS_PURPOSE,
)
from evals.coverage.case import CoverageCase
from evals.coverage.prompts import load_coverage_prompts
from evals.judging.request import JudgeSettings
from evals.records import Window

SETTINGS = JudgeSettings("judge-1", "off")
MakeWindow = Callable[..., Window]


def case_of(window: Window) -> CoverageCase:
    return CoverageCase(window, ("vince",), load_coverage_prompts(), audited=None)


@pytest.mark.parametrize(
    ("missing", "conclusions", "wanted"),
    [
        (
            [GOLD_PURPOSE, QUESTION_GENERATION_PURPOSE],
            ["vince bakes"],
            {
                TOPICS_PURPOSE: (1, 1),
                MATCHING_PURPOSE: (0, 1),
                ANSWERING_PURPOSE: (0, MAX_QUESTIONS),
                COMPARISON_PURPOSE: (0, 1),
            },
        ),
        ([GOLD_PURPOSE, QUESTION_GENERATION_PURPOSE], [], {TOPICS_PURPOSE: (0, 1)}),
        ([ANSWERING_PURPOSE], ["vince bakes"], {COMPARISON_PURPOSE: (0, 1)}),
        ([MATCHING_PURPOSE, TOPICS_PURPOSE], ["vince bakes"], {}),
        ([COMPARISON_PURPOSE], ["vince bakes"], {}),
    ],
)
def test_each_round_leads_to_the_next(
    missing: list[str],
    conclusions: list[str],
    wanted: dict[str, tuple[int, int]],
    make_window: MakeWindow,
) -> None:
    case = case_of(make_window(conclusions=conclusions))
    found = case.follow_ups(missing, SETTINGS)
    assert {each.request.purpose: (each.least, each.most) for each in found} == wanted
    for purpose, (least, most) in wanted.items():
        stated = CALLS_A_WINDOW[purpose]
        assert stated.least <= least <= most <= stated.most


def test_a_window_too_large_for_a_later_request_plans_none(make_window: MakeWindow) -> None:
    case = case_of(make_window(conclusions=["vince bakes" * 20_000]))
    assert case.follow_ups([GOLD_PURPOSE, QUESTION_GENERATION_PURPOSE], SETTINGS) == ()

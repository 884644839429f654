"""What judging a conclusion may still ask."""

from collections.abc import Callable, Sequence

import pytest

from evals.judging.request import JudgeSettings
from evals.premise.case import PremiseCase
from evals.premise.render import (
    ATTRIBUTION_PURPOSE,
    MINIMALITY_PURPOSE,
    PASS_1_PURPOSE,
    PASS_2_PURPOSE,
    WindowTexts,
    load_premise_prompts,
    pass_2_request,
)
from evals.records import Window

SETTINGS = JudgeSettings("judge-1", "off")
MakeWindow = Callable[..., Window]


def case_of(window: Window) -> PremiseCase:
    return PremiseCase(WindowTexts(window), window.conclusions[0], load_premise_prompts())


@pytest.mark.parametrize(
    ("missing", "earlier", "wanted"),
    [
        ([PASS_1_PURPOSE, MINIMALITY_PURPOSE], None, {PASS_2_PURPOSE: (1, 1)}),
        ([PASS_1_PURPOSE], (), {PASS_2_PURPOSE: (1, 1)}),
        (
            [PASS_1_PURPOSE],
            ["earlier"],
            {PASS_2_PURPOSE: (1, 1), ATTRIBUTION_PURPOSE: (0, 1)},
        ),
        ([PASS_2_PURPOSE], ["earlier"], {ATTRIBUTION_PURPOSE: (0, 1)}),
        ([PASS_2_PURPOSE], None, {}),
        ([MINIMALITY_PURPOSE], ["earlier"], {}),
        ([ATTRIBUTION_PURPOSE], ["earlier"], {}),
    ],
)
def test_each_pass_leads_to_the_next(
    missing: list[str],
    earlier: Sequence[str] | None,
    wanted: dict[str, tuple[int, int]],
    make_window: MakeWindow,
) -> None:
    found = case_of(make_window(earlier=earlier)).follow_ups(missing, SETTINGS)
    assert {each.request.purpose: (each.least, each.most) for each in found} == wanted


def test_a_follow_up_has_the_size_of_the_request_without_the_answer_before_it(
    make_window: MakeWindow,
) -> None:
    case = case_of(make_window())
    (found,) = case.follow_ups([PASS_1_PURPOSE], SETTINGS)
    answer = '{"reconstruction": "somebody starts somewhere"}'
    real = pass_2_request(case.conclusion, answer, case.texts, SETTINGS, case.prompts)
    written_as_json = answer.replace('"', '\\"')
    more = len(real.body) - len(found.request.body)
    assert len(answer) - 2 <= more <= len(written_as_json)
    assert found.request.max_tokens == real.max_tokens
    assert found.fed_by == (PASS_1_PURPOSE,)

"""The verdict's truth table (1.3)."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from evals.premise.schema import Pass1, Pass2
from evals.premise.verdict import verdict_of

Answers = Callable[..., dict[str, Any]]
SLOT = {"slot": "TIME", "why": "no date"}
PASSING = [
    "ANCHORED_CORRECTLY",
    "SELF_ANCHORING",
    "HEDGED_APPROPRIATELY",
    "ANCHORED_TO_BAD_TIMESTAMP",
]
FAILING = ["UNANCHORED", "ANCHORED_INCORRECTLY"]


def element(kind: str) -> dict[str, str]:
    return {"element": "in Paris", "kind": kind, "why": "nobody said so"}


def read(pass_1: dict[str, Any], pass_2: dict[str, Any]) -> tuple[Pass1, Pass2]:
    return (
        Pass1.model_validate(pass_1, strict=False),
        Pass2.model_validate(pass_2, strict=False),
    )


@pytest.mark.parametrize(
    ("changed_1", "changed_2", "failed_because"),
    [
        ({}, {}, ()),
        ({"unknown_slots": [SLOT]}, {}, ("unknown_slots",)),
        ({"licensed_inference": "NONE"}, {}, ("licensed_inference",)),
        ({}, {"interpretation": "MISMATCH"}, ("interpretation",)),
        ({}, {"unsupported_elements": [element("FABRICATION")]}, ("unsupported_elements",)),
        ({}, {"unsupported_elements": [element("OVER_INFERENCE")]}, ("unsupported_elements",)),
        ({}, {"force_preserved": False}, ("force_preserved",)),
        ({}, {"time_status": "UNANCHORED"}, ("time_status",)),
        (
            {"unknown_slots": [SLOT], "licensed_inference": "NONE"},
            {
                "interpretation": "MISMATCH",
                "unsupported_elements": [element("anything else")],
                "force_preserved": False,
                "time_status": "ANCHORED_INCORRECTLY",
            },
            (
                "unknown_slots",
                "licensed_inference",
                "interpretation",
                "unsupported_elements",
                "force_preserved",
                "time_status",
            ),
        ),
    ],
)
def test_each_condition_fails_by_itself_and_is_named(
    pass_1: Answers,
    pass_2: Answers,
    changed_1: dict[str, Any],
    changed_2: dict[str, Any],
    failed_because: tuple[str, ...],
) -> None:
    one, two = read(pass_1(**changed_1), pass_2(**changed_2))
    verdict = verdict_of(one, two, over_inference_fails=True)
    assert verdict.failed_because == failed_because
    assert verdict.sound is (not failed_because)
    assert verdict.pass_1_ok is (not changed_1)
    assert verdict.pass_2_ok is (not changed_2)


@pytest.mark.parametrize(
    ("status", "sound"), [(s, True) for s in PASSING] + [(s, False) for s in FAILING]
)
def test_time_status_passes_or_fails(
    pass_1: Answers, pass_2: Answers, status: str, *, sound: bool
) -> None:
    one, two = read(pass_1(), pass_2(time_status=status))
    assert verdict_of(one, two, over_inference_fails=True).sound is sound


@pytest.mark.parametrize(
    ("kinds", "sound_if_it_fails", "sound_if_it_does_not"),
    [
        (["OVER_INFERENCE"], False, True),
        (["OVER_INFERENCE", "OVER_INFERENCE"], False, True),
        (["OVER_INFERENCE", "FABRICATION"], False, False),
        (["over_inference"], False, False),
        (["MISATTRIBUTION"], False, False),
    ],
)
def test_policy_excuses_over_inference_and_no_other_kind(
    pass_1: Answers,
    pass_2: Answers,
    kinds: list[str],
    *,
    sound_if_it_fails: bool,
    sound_if_it_does_not: bool,
) -> None:
    one, two = read(pass_1(), pass_2(unsupported_elements=[element(kind) for kind in kinds]))
    assert verdict_of(one, two, over_inference_fails=True).sound is sound_if_it_fails
    assert verdict_of(one, two, over_inference_fails=False).sound is sound_if_it_does_not


def test_labels_missing_slots_bundling_and_score_do_not_touch_the_verdict(
    pass_1: Answers, pass_2: Answers
) -> None:
    missing = {"slot": "PLACE", "attribution": "PRESENT_IN_WINDOW", "evidence": "m1"}
    one, two = read(
        pass_1(bundled=True, decontextuality=0.0, labels=["vague"], force="joke"),
        pass_2(missing=[missing], labels=["odd"], license_check="fails at (b)"),
    )
    assert verdict_of(one, two, over_inference_fails=True).sound


def test_every_combination_agrees_with_the_specification(pass_1: Answers, pass_2: Answers) -> None:
    combinations = list(
        itertools.product(
            [[], [SLOT]],
            ["NONE", "vince has a job"],
            ["MATCH", "MISMATCH"],
            [[], ["OVER_INFERENCE"], ["FABRICATION"]],
            [True, False],
            PASSING + FAILING,
            [True, False],
        )
    )
    sound = 0
    for slots, inference, reading, kinds, force, status, policy in combinations:
        one, two = read(
            pass_1(unknown_slots=slots, licensed_inference=inference),
            pass_2(
                interpretation=reading,
                unsupported_elements=[element(kind) for kind in kinds],
                force_preserved=force,
                time_status=status,
            ),
        )
        verdict = verdict_of(one, two, over_inference_fails=policy)
        supported = not kinds or (kinds == ["OVER_INFERENCE"] and not policy)
        assert verdict.pass_1_ok is (not slots and inference != "NONE")
        assert verdict.pass_2_ok is (
            reading == "MATCH" and supported and force and status in PASSING
        )
        assert verdict.sound is (verdict.pass_1_ok and verdict.pass_2_ok)
        sound += verdict.sound
    # Of each policy's combinations, 4 time statuses pass; lenient policy also excuses one kind.
    assert (len(combinations), sound) == (576, 4 + 2 * 4)

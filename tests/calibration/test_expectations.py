from collections.abc import Callable
from typing import Any

import pytest

from calibration.expectations import (
    check_attribution,
    check_pass_1,
    check_pass_2,
    check_verdict,
)
from calibration.specimen import Specimen
from evals.premise.row import AttributedSlot
from evals.premise.schema import Pass1, Pass2
from evals.premise.slots import slot_name
from evals.premise.verdict import Verdict, verdict_of

MakePass1 = Callable[..., Pass1]
MakePass2 = Callable[..., Pass2]


def specimen(verdict: str = "fail", **expected: Any) -> Specimen:
    given = {
        "id": "x",
        "peer_id": "priya",
        "conclusion": "priya hikes",
        "window": [{"at": None, "peer": "priya", "text": "I hike"}],
        "verdict": verdict,
    }
    return Specimen.model_validate(with_tuples(given | expected))


def with_tuples(value: Any) -> Any:
    """Return JSON-like data as the gallery's YAML reader gives it."""
    if isinstance(value, dict):
        return {key: with_tuples(item) for key, item in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value


def slots(*names: str) -> list[dict[str, str]]:
    return [{"slot": name, "why": "open"} for name in names]


def elements(*kinds: str) -> list[dict[str, str]]:
    return [{"element": "Ruiz", "kind": kind, "why": "not there"} for kind in kinds]


def missing(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"slot": slot, "attribution": where, "evidence": ""} for slot, where in pairs]


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (
            {},
            {"decontextuality": 0.0, "unknown_slots": slots("TIME"), "licensed_inference": "NONE"},
        ),
        ({"decontextuality_min": 0.8}, {"decontextuality": 0.8}),
        ({"decontextuality_max": 0.4}, {"decontextuality": 0.4}),
        ({"decontextuality_min": 0.3, "decontextuality_max": 0.5}, {"decontextuality": 0.4}),
        ({"unknown_slots": []}, {"unknown_slots": []}),
        ({"unknown_slots_include": ["TIME"]}, {"unknown_slots": slots("SUBJECT", "TIME")}),
        ({"unknown_slots_include": ["TIME", "PLACE"]}, {"unknown_slots": slots("place", "time")}),
        ({"licensed_inference": "present"}, {"licensed_inference": "she is fit"}),
        ({"licensed_inference": "NONE"}, {"licensed_inference": "NONE"}),
    ],
)
def test_pass_1_meets(pass_1: MakePass1, expected: dict[str, Any], said: dict[str, Any]) -> None:
    assert check_pass_1(specimen(pass_1=expected), pass_1(**said)) == ()


@pytest.mark.parametrize(
    ("expected", "said", "key", "wanted", "shown"),
    [
        ({"decontextuality_min": 0.8}, {"decontextuality": 0.79}, "min", "at least 0.8", "0.79"),
        ({"decontextuality_max": 0.4}, {"decontextuality": 0.41}, "max", "at most 0.4", "0.41"),
        ({"unknown_slots": []}, {"unknown_slots": slots("TIME", "X")}, "slots", "none", "TIME, X"),
        ({"unknown_slots_include": ["TIME"]}, {}, "include", "TIME among them", "none"),
        (
            {"unknown_slots_include": ["OBJECT_OR_CONTENT"]},
            {"unknown_slots": slots("OBJECT")},
            "include",
            "OBJECT_OR_CONTENT among them",
            "OBJECT",
        ),
        (
            {"licensed_inference": "present"},
            {"licensed_inference": "NONE"},
            "inference",
            "an inference",
            "NONE",
        ),
        (
            {"licensed_inference": "NONE"},
            {"licensed_inference": "she is fit"},
            "inference",
            "NONE",
            "she is fit",
        ),
    ],
)
def test_pass_1_falls_short(
    pass_1: MakePass1,
    expected: dict[str, Any],
    said: dict[str, Any],
    key: str,
    wanted: str,
    shown: str,
) -> None:
    (found,) = check_pass_1(specimen(pass_1=expected), pass_1(**said))
    assert found.expectation.startswith("pass_1.")
    assert found.expectation.endswith(key)
    assert (found.wanted, found.said) == (wanted, shown)


def test_every_slot_that_is_not_named_is_a_mismatch_of_its_own(pass_1: MakePass1) -> None:
    expected = {"unknown_slots_include": ["TIME", "PLACE", "SUBJECT"]}
    found = check_pass_1(specimen(pass_1=expected), pass_1(unknown_slots=slots("PLACE")))
    assert [item.wanted for item in found] == ["TIME among them", "SUBJECT among them"]


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ({"unknown_slots": slots("TIME")}, "pass_1.unknown_slots"),
        ({"licensed_inference": "NONE"}, "pass_1.licensed_inference"),
    ],
)
def test_a_verdict_of_pass_needs_a_pass_1_that_allows_it(
    pass_1: MakePass1, said: dict[str, Any], key: str
) -> None:
    (found,) = check_pass_1(specimen("pass"), pass_1(**said))
    assert found.expectation == key
    assert check_pass_1(specimen("fail"), pass_1(**said)) == ()


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({}, {"interpretation": "MISMATCH", "force_preserved": False}),
        ({"interpretation": "MATCH"}, {"interpretation": "MATCH"}),
        ({"interpretation": "MISMATCH"}, {"interpretation": "MISMATCH"}),
        ({"force_preserved": True}, {"force_preserved": True}),
        ({"force_preserved": False}, {"force_preserved": False}),
        ({"time_status_in": ["UNANCHORED"]}, {"time_status": "UNANCHORED"}),
        (
            {"time_status_in": ["SELF_ANCHORING", "HEDGED_APPROPRIATELY"]},
            {"time_status": "HEDGED_APPROPRIATELY"},
        ),
        ({"unsupported_elements": []}, {}),
        ({"unsupported": "present"}, {"unsupported_elements": elements("WHATEVER")}),
        (
            {"unsupported_kinds_include": ["FABRICATION"]},
            {"unsupported_elements": elements("OVER_INFERENCE", "FABRICATION")},
        ),
        (
            {"missing_include": [{"slot": "TIME", "attribution": "PRESENT_IN_WINDOW"}]},
            {"missing": missing(("PLACE", "ABSENT_EVERYWHERE"), ("time", "PRESENT_IN_WINDOW"))},
        ),
    ],
)
def test_pass_2_meets(pass_2: MakePass2, expected: dict[str, Any], said: dict[str, Any]) -> None:
    assert check_pass_2(specimen(pass_2=expected), pass_2(**said)) == ()


TIME_PRESENT = {"missing_include": [{"slot": "TIME", "attribution": "PRESENT_IN_WINDOW"}]}


@pytest.mark.parametrize(
    ("expected", "said", "wanted", "shown"),
    [
        ({"interpretation": "MATCH"}, {"interpretation": "MISMATCH"}, "MATCH", "MISMATCH"),
        ({"force_preserved": True}, {"force_preserved": False}, "true", "false"),
        ({"force_preserved": False}, {"force_preserved": True}, "false", "true"),
        (
            {"time_status_in": ["UNANCHORED", "ANCHORED_INCORRECTLY"]},
            {},
            "UNANCHORED or ANCHORED_INCORRECTLY",
            "SELF_ANCHORING",
        ),
        (
            {"unsupported_elements": []},
            {"unsupported_elements": elements("FABRICATION")},
            "none",
            "FABRICATION 'Ruiz'",
        ),
        ({"unsupported": "present"}, {}, "at least one", "none"),
        (
            {"unsupported_kinds_include": ["OVER_INFERENCE"]},
            {"unsupported_elements": elements("over_inference")},
            "OVER_INFERENCE among them",
            "over_inference 'Ruiz'",
        ),
        (TIME_PRESENT, {}, "TIME PRESENT_IN_WINDOW among them", "none"),
        (
            TIME_PRESENT,
            {"missing": missing(("TIME", "ABSENT_FROM_WINDOW"), ("PLACE", "PRESENT_IN_WINDOW"))},
            "TIME PRESENT_IN_WINDOW among them",
            "TIME ABSENT_FROM_WINDOW, PLACE PRESENT_IN_WINDOW",
        ),
    ],
)
def test_pass_2_falls_short(
    pass_2: MakePass2, expected: dict[str, Any], said: dict[str, Any], wanted: str, shown: str
) -> None:
    (found,) = check_pass_2(specimen(pass_2=expected), pass_2(**said))
    assert found.expectation == f"pass_2.{next(iter(expected))}"
    assert (found.wanted, found.said) == (wanted, shown)


@pytest.mark.parametrize("verdict", ["pass", "fail"])
@pytest.mark.parametrize("sound", [True, False])
def test_the_verdict_is_the_adjudicated_one_or_a_mismatch(
    pass_1: MakePass1, pass_2: MakePass2, verdict: str, *, sound: bool
) -> None:
    said = verdict_of(pass_1(), pass_2(force_preserved=sound), over_inference_fails=True)
    found = check_verdict(specimen(verdict), said)
    if (verdict == "pass") == sound:
        assert found == ()
    else:
        (mismatch,) = found
        assert (mismatch.expectation, mismatch.wanted) == ("verdict", verdict)
        assert mismatch.said == ("pass" if sound else "fail because of force_preserved")


def test_a_verdict_says_every_condition_that_failed() -> None:
    said = Verdict(
        sound=False,
        pass_1_ok=False,
        pass_2_ok=False,
        failed_because=("unknown_slots", "time_status"),
    )
    (found,) = check_verdict(specimen("pass"), said)
    assert found.said == "fail because of unknown_slots, time_status"


def attributed(*pairs: tuple[str, str]) -> tuple[AttributedSlot, ...]:
    return tuple(AttributedSlot.model_validate(item) for item in missing(*pairs))


def searched(*pairs: tuple[str, str]) -> Specimen:
    wanted = [{"slot": slot, "attribution": where} for slot, where in pairs]
    return specimen("fail", earlier=[], attribution=wanted) if pairs else specimen("fail")


FAILED = Verdict(sound=False, pass_1_ok=False, pass_2_ok=True, failed_because=("unknown_slots",))
PASSED = Verdict(sound=True, pass_1_ok=True, pass_2_ok=True, failed_because=())
NOWHERE = ("PLACE", "ABSENT_EVERYWHERE")
IN_WINDOW = ("TIME", "PRESENT_IN_WINDOW")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ([], []),
        ([], [NOWHERE]),
        ([NOWHERE], [NOWHERE]),
        ([NOWHERE], [IN_WINDOW, ("place (where)", "ABSENT_EVERYWHERE")]),
        ([NOWHERE], [("PLACE", "PRESENT_IN_WINDOW"), NOWHERE]),
        ([NOWHERE, IN_WINDOW], [IN_WINDOW, NOWHERE]),
    ],
)
def test_an_attribution_is_met(wanted: list[tuple[str, str]], said: list[tuple[str, str]]) -> None:
    assert check_attribution(searched(*wanted), FAILED, attributed(*said)) == ()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([], "none"),
        ([("PLACE", "ABSENT_FROM_WINDOW")], "PLACE ABSENT_FROM_WINDOW"),
        ([("PLACE", "PRESENT_IN_WINDOW")], "PLACE PRESENT_IN_WINDOW"),
        ([("SPOT", "ABSENT_EVERYWHERE")], "SPOT ABSENT_EVERYWHERE"),
    ],
)
def test_an_attribution_falls_short(said: list[tuple[str, str]], shown: str) -> None:
    (found,) = check_attribution(searched(NOWHERE), FAILED, attributed(*said))
    assert (found.expectation, found.wanted) == (
        "attribution",
        "PLACE ABSENT_EVERYWHERE among them",
    )
    assert found.said == shown


def test_every_attribution_that_is_not_met_is_a_mismatch_of_its_own() -> None:
    found = check_attribution(searched(NOWHERE, IN_WINDOW), FAILED, ())
    assert [item.wanted.split()[0] for item in found] == ["PLACE", "TIME"]


def test_a_conclusion_that_passes_meets_no_attribution() -> None:
    said = attributed(NOWHERE, IN_WINDOW)
    found = check_attribution(searched(NOWHERE, IN_WINDOW), PASSED, said)
    assert [item.expectation for item in found] == ["attribution"] * 2
    assert {item.said for item in found} == {
        "nothing: it passes, so there is no failure to attribute"
    }
    assert check_attribution(searched(), PASSED, said) == ()


@pytest.mark.parametrize(
    "said",
    [
        "OBJECT_OR_CONTENT",
        "object_or_content",
        " Object or content ",
        "OBJECT-OR-CONTENT",
        "OBJECT_OR/CONTENT",
        "OBJECT_OR_CONTENT (what)",
        "OBJECT_OR_CONTENT: what was agreed to",
        "UNKNOWN(OBJECT_OR_CONTENT)",
        "unknown (object_or_content (what))",
    ],
)
def test_dressings_of_a_slot_name_are_undone(said: str) -> None:
    assert slot_name(said) == "OBJECT_OR_CONTENT"


@pytest.mark.parametrize(
    "said", ["OBJECT", "CONTENT", "OBJECT_OR_CONTENTS", "THE_OBJECT_OR_CONTENT", "UNKNOWN", ""]
)
def test_another_name_is_another_slot(said: str) -> None:
    assert slot_name(said) != "OBJECT_OR_CONTENT"

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evals.errors import CalibrationError
from evals.runs.calibration import (
    CalibrationStamp,
    CalibrationState,
    Mismatch,
    SpecimenResult,
    calibration_state,
    read_stamp,
    write_stamp,
)

HASHES = {"premise/pass_1": "1" * 64, "premise/pass_2": "2" * 64}
NOON = datetime(2026, 6, 4, 12, tzinfo=UTC)


def result(name: str, *, met: bool = True) -> SpecimenResult:
    mismatch = Mismatch(expectation="verdict", wanted="pass", said="fail")
    return SpecimenResult(
        specimen_id=name,
        pass_1_met=True,
        both_passes_met=met,
        mismatches=() if met else (mismatch,),
        verdict="pass" if met else "fail",
        decontextuality=0.9,
        unknown_slots=(),
        licensed_inference="she hikes",
        interpretation="MATCH",
        unsupported_kinds=(),
        force_preserved=True,
        time_status="SELF_ANCHORING",
    )


def make_stamp(**changes: Any) -> CalibrationStamp:
    values: dict[str, Any] = {
        "judge_model": "judge-1",
        "models_served": ("judge-1-20260101",),
        "reasoning": "off",
        "prompt_hashes": HASHES,
        "gallery_hash": "9" * 64,
        "bench_version": "0.1.0",
        "calibrated_at": NOON,
        "specimens": (result("a"), result("b")),
        "all_met": True,
    }
    return CalibrationStamp(**values | changes)


def unmet(*names: str) -> dict[str, Any]:
    specimens = (result("good"), *(result(name, met=False) for name in names))
    return {"specimens": specimens, "all_met": False}


def state_of(stamps_dir: Path, **changes: Any) -> CalibrationState:
    values: dict[str, Any] = {
        "judge_model": "judge-1",
        "reasoning": "off",
        "prompt_hashes": HASHES | {"premise/minimality": "3" * 64},
        "gallery_hash": "9" * 64,
        "stamps_dir": stamps_dir,
    }
    return calibration_state(**values | changes)


def test_a_stamp_comes_back_as_it_was_written(tmp_path: Path) -> None:
    stamp = make_stamp()
    path = write_stamp(stamp, tmp_path / "stamps")
    assert read_stamp(path) == stamp
    assert [item.name for item in path.parent.iterdir()] == [stamp.file_name]


def test_the_name_says_model_and_reasoning_and_hashes_the_rest() -> None:
    name = make_stamp(judge_model="../judge one/ü").file_name
    assert name.startswith("judge-one-u-off-")
    assert len(name.removeprefix("judge-one-u-off-").removesuffix(".json")) == 8
    assert len({make_stamp(gallery_hash=digit * 64).file_name for digit in "0123"}) == 4


def test_a_newer_stamp_of_the_same_judge_takes_the_place_of_the_older(tmp_path: Path) -> None:
    write_stamp(make_stamp(**unmet("c")), tmp_path)
    path = write_stamp(make_stamp(calibrated_at=NOON + timedelta(days=1)), tmp_path)
    assert list(tmp_path.iterdir()) == [path]
    assert state_of(tmp_path).calibrated


def test_exactly_this_judge_is_calibrated(tmp_path: Path) -> None:
    stamp = make_stamp()
    write_stamp(stamp, tmp_path)
    state = state_of(tmp_path)
    assert state.calibrated
    assert state.why == f"all 2 specimens met on 2026-06-04 ({stamp.file_name})"


def test_no_stamp_at_all(tmp_path: Path) -> None:
    state = state_of(tmp_path / "nowhere")
    assert not state.calibrated
    assert state.why == "no stamp for model judge-1 (there is one for no model at all)"


@pytest.mark.parametrize(
    ("stamp", "run", "why"),
    [
        ({}, {"judge_model": "judge-2"}, "no stamp for model judge-2 (there is one for judge-1)"),
        (
            {},
            {"prompt_hashes": HASHES | {"premise/pass_2": "0" * 64}},
            "the stamp is for other prompts: pass_2 changed",
        ),
        (
            {},
            {"prompt_hashes": dict.fromkeys(HASHES, "0" * 64)},
            "the stamp is for other prompts: pass_1 and pass_2 changed",
        ),
        (
            {},
            {"reasoning": "adaptive"},
            "the stamp is for reasoning off, the run has adaptive",
        ),
        ({}, {"gallery_hash": "0" * 64}, "the gallery changed since the stamp"),
        (unmet("x"), {}, "1 of 2 specimens not met (x)"),
        (unmet("v", "w", "x", "y"), {}, "4 of 5 specimens not met (v, w, x, …)"),
        (
            unmet("x"),
            {"reasoning": "adaptive"},
            "the stamp is for reasoning off, the run has adaptive; 1 of 2 specimens not met (x)",
        ),
    ],
)
def test_what_a_stamp_lacks_is_said(
    tmp_path: Path, stamp: dict[str, Any], run: dict[str, Any], why: str
) -> None:
    write_stamp(make_stamp(**stamp), tmp_path)
    assert state_of(tmp_path, **run) == CalibrationState(calibrated=False, why=why)


def test_the_closest_stamp_is_the_one_that_is_explained(tmp_path: Path) -> None:
    write_stamp(make_stamp(reasoning="adaptive", gallery_hash="0" * 64), tmp_path)
    write_stamp(make_stamp(gallery_hash="0" * 64), tmp_path)
    assert state_of(tmp_path).why == "the gallery changed since the stamp"


def test_one_fitting_stamp_among_others_is_enough(tmp_path: Path) -> None:
    for changes in ({}, {"gallery_hash": "0" * 64}, {"judge_model": "judge-2"}):
        write_stamp(make_stamp(**changes), tmp_path)
    assert state_of(tmp_path).calibrated


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"all_met": true', '"all_met": false', "all_met and the specimens"),
        ('"all_met": true', '"all_met": "true"', "all_met: "),
        ('"bench_version"', '"version"', "bench_version: Field required"),
        ('"judge_model": "judge-1"', '"judge_model": "judge-2"', "does not fit its name"),
        ("1111", "0000", "does not fit its name"),
        ('"premise/pass_2"', '"premise/pass_3"', "prompt_hashes must be of"),
        ('"both_passes_met": true', '"both_passes_met": false', "contradict each other"),
        ('"decontextuality": 0.9', '"decontextuality": 9', "specimens.0.decontextuality: "),
        ("12:00:00Z", "12:00:00", "calibrated_at: "),
        ("{", "[", "Invalid JSON"),
    ],
)
def test_a_stamp_that_was_changed_by_hand_is_refused(
    tmp_path: Path, old: str, new: str, found: str
) -> None:
    path = write_stamp(make_stamp(), tmp_path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    for read in (lambda: read_stamp(path), lambda: state_of(tmp_path)):
        with pytest.raises(CalibrationError, match="Restore it from git") as caught:
            read()
        assert found in caught.value.found


def test_a_stamp_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="a readable stamp"):
        read_stamp(tmp_path / "nowhere.json")


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "stamps").touch()
    with pytest.raises(CalibrationError, match="a place that can be written"):
        write_stamp(make_stamp(), tmp_path / "stamps")


@pytest.mark.parametrize(
    "changes", [{"specimens": ()}, {"all_met": False}, unmet("x") | {"all_met": True}]
)
def test_a_stamp_cannot_claim_what_its_specimens_do_not_show(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        make_stamp(**changes)


def test_a_run_without_the_hash_of_a_calibrated_prompt_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="pass_2"):
        state_of(tmp_path, prompt_hashes={"premise/pass_1": "1" * 64})

import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evals import BENCH_VERSION
from evals.errors import CalibrationError
from evals.runs.calibration import (
    CalibrationStamp,
    CalibrationState,
    Mismatch,
    SpecimenResult,
    after_run,
    calibration_state,
    read_stamp,
    write_stamp,
)

HASHES = {
    "premise/pass_1": "1" * 64,
    "premise/pass_2": "2" * 64,
    "premise/attribution_search": "4" * 64,
}
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
        "bench_version": "0.1.0",
        "stamps_dir": stamps_dir,
    }
    return calibration_state(**values | changes)


def test_a_stamp_that_says_the_same_on_another_day_is_left_alone(tmp_path: Path) -> None:
    path = write_stamp(make_stamp(), tmp_path)
    before = path.read_bytes()
    later = make_stamp().model_copy(
        update={"calibrated_at": make_stamp().calibrated_at + timedelta(days=1)}
    )
    assert write_stamp(later, tmp_path) == path
    assert path.read_bytes() == before


def test_a_stamp_comes_back_as_it_was_written(tmp_path: Path) -> None:
    stamp = make_stamp()
    path = write_stamp(stamp, tmp_path / "stamps")
    assert read_stamp(path) == stamp
    assert [item.name for item in path.parent.iterdir()] == [stamp.file_name]
    (tmp_path / "usual").touch()  # as far as the umask goes
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode  # shared, unlike a run record


def test_a_stamp_that_cannot_take_its_place_leaves_the_older_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = make_stamp(**unmet("c"))
    path = write_stamp(older, tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CalibrationError, match=r"No space left.*Mend its permissions"):
        write_stamp(make_stamp(), tmp_path)
    assert read_stamp(path) == older


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
    assert state.models_served == ("judge-1-20260101",)


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
            {"prompt_hashes": HASHES | {"premise/attribution_search": "0" * 64}},
            "the stamp is for other prompts: attribution_search changed",
        ),
        (
            {},
            {"prompt_hashes": dict.fromkeys(HASHES, "0" * 64)},
            "the stamp is for other prompts: pass_1, pass_2, attribution_search changed",
        ),
        (
            {},
            {"reasoning": "adaptive"},
            "the stamp is for reasoning off, the run has adaptive",
        ),
        ({}, {"gallery_hash": "0" * 64}, "the gallery changed since the stamp"),
        (
            {},
            {"bench_version": "0.2.0"},
            "the stamp is for bench version 0.1.0, the run has 0.2.0",
        ),
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
    wanted = CalibrationState(calibrated=False, why=why, models_served=())
    assert state_of(tmp_path, **run) == wanted


def test_a_run_is_of_this_codes_version_unless_it_says_otherwise(tmp_path: Path) -> None:
    def state() -> CalibrationState:
        return calibration_state(
            judge_model="judge-1",
            reasoning="off",
            prompt_hashes=HASHES,
            gallery_hash="9" * 64,
            stamps_dir=tmp_path,
        )

    write_stamp(make_stamp(bench_version="0.0.1"), tmp_path)
    assert state().why == f"the stamp is for bench version 0.0.1, the run has {BENCH_VERSION}"
    write_stamp(make_stamp(bench_version=BENCH_VERSION), tmp_path)
    assert state().calibrated


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
        ('"premise/pass_2"', '"premise/pass_3"', "does not fit its name"),
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


@pytest.mark.parametrize("name", HASHES)
def test_a_stamp_from_before_a_prompt_was_calibrated_is_for_other_prompts(
    tmp_path: Path, name: str
) -> None:
    older = {key: value for key, value in HASHES.items() if key != name}
    write_stamp(make_stamp(prompt_hashes=older), tmp_path)
    state = state_of(tmp_path)
    assert not state.calibrated
    assert state.why == f"the stamp is for other prompts: {name.removeprefix('premise/')} changed"


STAMPED = CalibrationState(calibrated=True, why="all met", models_served=("m-1", "m-2"))


@pytest.mark.parametrize("served", [(), ("m-1",), ("m-2", "m-1", "m-1")])
def test_a_run_answered_by_the_stamps_models_stays_calibrated(served: tuple[str, ...]) -> None:
    assert after_run(STAMPED, served) == STAMPED


def test_a_run_answered_by_another_model_than_the_stamp_is_not_calibrated() -> None:
    assert after_run(STAMPED, ["m-1", "m-9", "m-3"]) == CalibrationState(
        calibrated=False,
        why="the run was answered by m-3, m-9, the stamp's gallery by m-1, m-2",
        models_served=(),
    )


def test_what_was_not_calibrated_before_the_run_keeps_its_reason() -> None:
    before = CalibrationState(calibrated=False, why="no stamp", models_served=())
    assert after_run(before, ["m-9"]) == before


def test_the_name_of_a_served_model_reaches_no_terminal_unescaped() -> None:
    assert "\x1b" not in after_run(STAMPED, ["\x1b[2Jm"]).why


@pytest.mark.parametrize("name", HASHES)
def test_a_run_without_the_hash_of_a_calibrated_prompt_is_a_mistake(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(KeyError, match=name):
        state_of(tmp_path, prompt_hashes={k: v for k, v in HASHES.items() if k != name})

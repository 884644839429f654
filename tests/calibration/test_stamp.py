import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from calibration.case import SpecimenRow
from calibration.gallery import SHIPPED_GALLERY, Gallery, gallery_cases, load_gallery
from calibration.stamp import left_out, stamp_of, write_stamp_of
from evals.config import RunConfig
from evals.errors import CalibrationError, RefusedError
from evals.judging.case import RunContext
from evals.judging.request import JudgeSettings
from evals.runs.calibration import calibration_state, read_stamp

Rows = list[SpecimenRow]
MakeRows = Callable[..., Rows]
NOON = datetime(2026, 6, 4, 12, tzinfo=UTC)
REFUSED = RefusedError("answer 1", "a refusal", "a judgement", "Rephrase.")


@pytest.fixture
def make_rows(gallery_file: Path, context: RunContext, make_judge: Callable[..., Any]) -> MakeRows:
    """Rows of a whole gallery; the scripted judge finds every conclusion sound."""

    def make(path: Path = gallery_file, context: RunContext = context, **answers: Any) -> Rows:
        judge = make_judge(**answers)

        async def evaluate_all() -> Rows:
            cases = [case for found in gallery_cases(path).values() for case in found]
            return [await case.evaluate(judge, context) for case in cases]

        return asyncio.run(evaluate_all())

    return make


def test_a_stamp_says_of_each_specimen_what_the_judge_made_of_it(
    gallery: Gallery, make_rows: MakeRows
) -> None:
    rows = make_rows()
    stamp = stamp_of(rows, gallery, reasoning="off", calibrated_at=NOON)
    assert (stamp.judge_model, stamp.models_served) == ("judge-1", ("judge-1-20260101",))
    assert stamp.prompt_hashes == rows[0].provenance.judge_prompt_hashes
    assert (stamp.reasoning, stamp.bench_version) == ("off", "0.1.0")
    assert (stamp.gallery_hash, stamp.calibrated_at) == (gallery.gallery_hash, NOON)
    met, unmet = stamp.specimens
    assert (met.specimen_id, met.pass_1_met, met.both_passes_met) == ("allergy", True, True)
    assert (met.verdict, met.decontextuality, met.time_status) == ("pass", 0.9, "SELF_ANCHORING")
    assert met.mismatches == ()
    assert (unmet.specimen_id, unmet.pass_1_met, unmet.both_passes_met) == ("bare-yes", True, False)
    assert [item.expectation for item in unmet.mismatches] == ["verdict"]
    assert (stamp.all_met, stamp.unmet) == (False, ("bare-yes",))


def test_the_order_of_the_rows_does_not_matter(gallery: Gallery, make_rows: MakeRows) -> None:
    rows = make_rows()
    forth, back = (
        stamp_of(found, gallery, reasoning="off", calibrated_at=NOON)
        for found in (rows, rows[::-1])
    )
    assert forth == back


def test_what_was_not_run_or_not_judged_is_left_out(gallery: Gallery, make_rows: MakeRows) -> None:
    rows = make_rows()
    assert left_out(rows, gallery) == ()
    assert left_out(rows[1:], gallery) == ("allergy (pass_1)",)
    assert left_out([], gallery) == (
        "allergy (pass_1)",
        "allergy (both_passes)",
        "bare-yes (pass_1)",
        "bare-yes (both_passes)",
    )
    unjudged = make_rows(pass_2=REFUSED)
    assert left_out(unjudged, gallery) == ("allergy (both_passes)", "bare-yes (both_passes)")


def _other_model(rows: Rows, make_rows: MakeRows, context: RunContext) -> Rows:
    other = replace(context, settings=JudgeSettings("judge-2", "off"))
    return [rows[0], *make_rows(context=other)[1:]]


def _other_gallery(rows: Rows, _make_rows: MakeRows, _context: RunContext) -> Rows:
    return [*rows, rows[0].model_copy(update={"specimen_id": "stranger"})]


def _adaptive(_rows: Rows, make_rows: MakeRows, context: RunContext) -> Rows:
    return make_rows(context=replace(context, settings=JudgeSettings("judge-1", "adaptive")))


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda rows, *_: rows[:-1], "nothing judged for bare-yes (both_passes)"),
        (lambda _, make_rows, __: make_rows(pass_1=REFUSED), "nothing judged for allergy"),
        (lambda rows, *_: [*rows, rows[0]], "rows that are doubled"),
        (_other_gallery, "rows that are doubled or of another gallery"),
        (_other_model, "2 judges for reasoning off"),
        (_adaptive, "1 judges for reasoning off"),
    ],
)
def test_rows_that_are_not_one_judges_whole_gallery_make_no_stamp(
    gallery: Gallery,
    make_rows: MakeRows,
    context: RunContext,
    spoil: Callable[[Rows, MakeRows, RunContext], Rows],
    found: str,
) -> None:
    rows = spoil(make_rows(), make_rows, context)
    with pytest.raises(CalibrationError) as caught:
        stamp_of(rows, gallery, reasoning="off", calibrated_at=NOON)
    assert caught.value.found.startswith(found)


def test_a_whole_run_of_the_shipped_gallery_writes_its_stamp(
    tmp_path: Path, make_rows: MakeRows, make_config: Callable[..., RunConfig]
) -> None:
    rows = make_rows(SHIPPED_GALLERY)
    path = write_stamp_of(rows, make_config(), tmp_path / "stamps")
    assert path is not None
    stamp = read_stamp(path)
    gallery = load_gallery(SHIPPED_GALLERY)
    assert [item.specimen_id for item in stamp.specimens] == [s.id for s in gallery.specimens]
    state = calibration_state(
        judge_model="judge-1",
        reasoning="off",
        prompt_hashes=rows[0].provenance.judge_prompt_hashes,
        gallery_hash=gallery.gallery_hash,
        stamps_dir=tmp_path / "stamps",
    )
    # A judge that finds everything sound must not come out calibrated.
    assert not state.calibrated
    assert "specimens not met" in state.why


def test_a_part_of_the_gallery_writes_nothing(
    tmp_path: Path, make_rows: MakeRows, make_config: Callable[..., RunConfig]
) -> None:
    rows = make_rows(SHIPPED_GALLERY)
    assert write_stamp_of(rows[1:], make_config(), tmp_path / "stamps") is None
    assert not (tmp_path / "stamps").exists()


def test_another_gallery_vouches_for_nothing(
    tmp_path: Path, gallery_file: Path, make_rows: MakeRows, make_config: Callable[..., RunConfig]
) -> None:
    config = make_config(gallery_path=gallery_file)
    assert write_stamp_of(make_rows(), config, tmp_path / "stamps") is None
    assert not (tmp_path / "stamps").exists()

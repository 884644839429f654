"""From the rows of a whole gallery run to its calibration stamp."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import get_args

from calibration.case import Mode, SpecimenRow
from calibration.gallery import SHIPPED_GALLERY, Gallery, gallery_hash, load_gallery
from calibration.specimen import Specimen
from evals.config import RunConfig
from evals.errors import CalibrationError
from evals.records import ReasoningMode
from evals.runs.calibration import STAMPS_DIR, CalibrationStamp, SpecimenResult, write_stamp


def write_stamp_of(
    rows: Sequence[SpecimenRow], config: RunConfig, stamps_dir: Path = STAMPS_DIR
) -> Path | None:
    """Write the stamp of a finished run of the gallery, met or not; return its path.

    None, and nothing is written, where something was left out (see ``left_out``), or where the run
    was of another gallery than the shipped one, which can vouch for nothing.

    Raises:
        CalibrationError: a gallery cannot be read, the rows are not of one judge, or the stamp
            cannot be written.
    """
    gallery = load_gallery(config.gallery_path)
    if left_out(rows, gallery) or gallery.gallery_hash != gallery_hash(SHIPPED_GALLERY):
        return None
    stamp = stamp_of(rows, gallery, reasoning=config.reasoning, calibrated_at=datetime.now(UTC))
    return write_stamp(stamp, stamps_dir)


def left_out(rows: Sequence[SpecimenRow], gallery: Gallery) -> tuple[str, ...]:
    """Return what a stamp would lack, as ``<specimen id> (<mode>)``: not run, or not judged.

    Empty: ``stamp_of`` can be called. A run of a part of the gallery, or one whose answers did not
    come, says nothing about the judge and must not replace a stamp.
    """
    judged = {(row.specimen_id, row.mode) for row in rows if row.unjudged is None}
    return tuple(
        f"{specimen.id} ({mode})"
        for specimen in gallery.specimens
        for mode in get_args(Mode)
        if (specimen.id, mode) not in judged
    )


def stamp_of(
    rows: Sequence[SpecimenRow],
    gallery: Gallery,
    *,
    reasoning: ReasoningMode,
    calibrated_at: datetime,
) -> CalibrationStamp:
    """Return the stamp of one judge, met or not.

    Args:
        rows: one judged row for each specimen and mode, all of one judge.
        gallery: what was run.
        reasoning: the run's mode.
        calibrated_at: now; an aware time.

    Raises:
        CalibrationError: a row is missing, unjudged, doubled or of no specimen of this gallery, or
            the rows are not of one judge.
    """
    by_key = _by_key(rows, gallery)
    judges = {
        (
            row.provenance.judge_model_id,
            row.provenance.reasoning_enabled,
            tuple(sorted(row.provenance.judge_prompt_hashes.items())),
            row.provenance.bench_version,
        )
        for row in rows
    }
    if len(judges) != 1 or {reasoning != "off"} != {enabled for _, enabled, _, _ in judges}:
        raise _error(
            f"{len(judges)} judges for reasoning {reasoning}", "one judge, model, prompts and mode"
        )
    model, _, hashes, bench_version = next(iter(judges))
    results = tuple(
        _result(specimen, by_key[specimen.id, "pass_1"], by_key[specimen.id, "both_passes"])
        for specimen in gallery.specimens
    )
    served = {call.model_served for row in rows for call in row.calls}
    return CalibrationStamp(
        judge_model=model,
        models_served=tuple(sorted(served)),
        reasoning=reasoning,
        prompt_hashes=dict(hashes),
        gallery_hash=gallery.gallery_hash,
        bench_version=bench_version,
        calibrated_at=calibrated_at,
        specimens=results,
        all_met=not any(result.mismatches for result in results),
    )


def _by_key(rows: Sequence[SpecimenRow], gallery: Gallery) -> dict[tuple[str, Mode], SpecimenRow]:
    lacking = left_out(rows, gallery)
    if lacking:
        raise _error(f"nothing judged for {', '.join(lacking[:3])}", "every specimen, both ways")
    by_key = {(row.specimen_id, row.mode): row for row in rows}
    known = {specimen.id for specimen in gallery.specimens}
    if len(by_key) != len(rows) or not {name for name, _ in by_key} <= known:
        raise _error("rows that are doubled or of another gallery", "one row a specimen and mode")
    return by_key


def _result(specimen: Specimen, alone: SpecimenRow, both: SpecimenRow) -> SpecimenResult:
    pass_1, pass_2, verdict = both.pass_1, both.pass_2, both.verdict
    assert pass_1 is not None  # a judged row of both passes has all three
    assert pass_2 is not None
    assert verdict is not None
    return SpecimenResult(
        specimen_id=specimen.id,
        pass_1_met=alone.met,
        both_passes_met=both.met,
        mismatches=tuple(dict.fromkeys(chain(alone.mismatches, both.mismatches))),
        verdict="pass" if verdict.sound else "fail",
        decontextuality=pass_1.decontextuality,
        unknown_slots=tuple(slot.slot for slot in pass_1.unknown_slots),
        licensed_inference=pass_1.licensed_inference,
        interpretation=pass_2.interpretation,
        unsupported_kinds=tuple(item.kind for item in pass_2.unsupported_elements),
        force_preserved=pass_2.force_preserved,
        time_status=pass_2.time_status,
    )


def _error(found: str, wanted: str) -> CalibrationError:
    return CalibrationError(
        "calibration stamp", found, wanted, "Run the whole of `pytest calibration/` with one judge."
    )

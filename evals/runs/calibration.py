"""Calibration: whether this judge, as it is set up, has met the gallery (1.6.1).

A stamp is written by a whole run of the gallery; a run is calibrated by a stamp in which every
specimen was met, for exactly its judge model, pass prompts and reasoning mode (1.5) and for the
gallery as it is shipped now.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from evals.config import ROOT
from evals.errors import CalibrationError
from evals.premise.schema import TimeStatus
from evals.records import ReasoningMode, Record
from evals.untrusted import for_id, for_terminal

STAMPS_DIR = ROOT / "calibration" / "stamps"
CALIBRATED_PROMPTS = ("premise/pass_1", "premise/pass_2")
"""The prompts that the gallery measures: the verdict rests on these two alone (1.3)."""


class Mismatch(Record):
    """One expectation of a specimen that the judge did not meet."""

    expectation: str
    """The key in the gallery: ``pass_1.decontextuality_max``."""
    wanted: str
    said: str
    """What the judge answered."""


class SpecimenResult(Record):
    """What one specimen came to."""

    specimen_id: str
    pass_1_met: bool
    """Pass 1 alone."""
    both_passes_met: bool
    """Both passes, and the verdict that they come to."""
    mismatches: tuple[Mismatch, ...]
    """Of both tests, each once; empty exactly where both are met."""
    verdict: Literal["pass", "fail"]
    decontextuality: float = Field(ge=0, le=1)
    unknown_slots: tuple[str, ...]
    """As pass 1 named them."""
    licensed_inference: str
    interpretation: Literal["MATCH", "MISMATCH"]
    unsupported_kinds: tuple[str, ...]
    force_preserved: bool
    time_status: TimeStatus

    @model_validator(mode="after")
    def _met_is_without_mismatch(self) -> Self:
        if (self.pass_1_met and self.both_passes_met) != (not self.mismatches):
            raise ValueError("met and mismatches contradict each other")
        return self


class CalibrationStamp(Record):
    """A whole run of a gallery by one judge, every specimen judged."""

    judge_model: str
    """The model asked for."""
    models_served: tuple[str, ...]
    reasoning: ReasoningMode
    prompt_hashes: dict[str, str]
    """Of ``CALIBRATED_PROMPTS``, exactly."""
    gallery_hash: str
    bench_version: str
    calibrated_at: AwareDatetime
    specimens: tuple[SpecimenResult, ...] = Field(min_length=1)
    all_met: bool

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.all_met != (not self.unmet):
            raise ValueError("all_met and the specimens contradict each other")
        if set(self.prompt_hashes) != set(CALIBRATED_PROMPTS):
            raise ValueError(f"prompt_hashes must be of {', '.join(CALIBRATED_PROMPTS)}")
        return self

    @property
    def unmet(self) -> tuple[str, ...]:
        """Ids of the specimens that were not met."""
        return tuple(result.specimen_id for result in self.specimens if result.mismatches)

    @property
    def file_name(self) -> str:
        """``<model>-<reasoning>-<8 hex digits of everything that identifies the judge>.json``."""
        identity = [self.judge_model, self.reasoning, self.prompt_hashes, self.gallery_hash]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        return f"{for_id(self.judge_model)}-{self.reasoning}-{digest[:8]}.json"


class CalibrationState(Record):
    """Whether a run's judge is calibrated, in words for header, summary and report."""

    calibrated: bool
    why: str


def write_stamp(stamp: CalibrationStamp, stamps_dir: Path) -> Path:
    """Write a stamp, in place of an older one of the same judge; return its path.

    Raises:
        CalibrationError: it cannot be written.
    """
    path = stamps_dir / stamp.file_name
    beside = path.with_suffix(f".{os.getpid()}.part")
    try:
        stamps_dir.mkdir(parents=True, exist_ok=True)
        beside.write_text(stamp.model_dump_json(indent=2) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise CalibrationError(
            str(path), str(error), "a place that can be written", "Mend its permissions."
        ) from error
    return path


def read_stamp(path: Path) -> CalibrationStamp:
    """Read one stamp.

    Raises:
        CalibrationError: it is not a stamp as ``write_stamp`` writes it, name included.
    """
    todo = "Restore it from git, or delete it and run `pytest calibration/`."
    try:
        stamp = CalibrationStamp.model_validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise CalibrationError(str(path), str(error), "a readable stamp", todo) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        found = for_terminal(f"{key}: {first['msg']}", 300)
        raise CalibrationError(str(path), found, "a calibration stamp", todo) from error
    if path.name != stamp.file_name:
        raise CalibrationError(
            str(path), "content that does not fit its name", stamp.file_name, todo
        )
    return stamp


def calibration_state(
    *,
    judge_model: str,
    reasoning: ReasoningMode,
    prompt_hashes: Mapping[str, str],
    gallery_hash: str,
    stamps_dir: Path = STAMPS_DIR,
) -> CalibrationState:
    """Return whether some stamp covers exactly this judge, or what the closest one lacks.

    Args:
        judge_model: the model that the run asks.
        reasoning: the run's reasoning mode.
        prompt_hashes: prompt name -> hash; holds ``CALIBRATED_PROMPTS``, others are left aside.
        gallery_hash: of the shipped gallery.
        stamps_dir: where stamps are; a folder that does not exist holds none.

    Raises:
        CalibrationError: a stamp cannot be read.
        KeyError: a calibrated prompt has no hash.
    """
    hashes = {name: prompt_hashes[name] for name in CALIBRATED_PROMPTS}
    stamps = [read_stamp(path) for path in sorted(stamps_dir.glob("*.json"))]
    of_model = [stamp for stamp in stamps if stamp.judge_model == judge_model]
    if not of_model:
        others = ", ".join(sorted({stamp.judge_model for stamp in stamps})) or "no model at all"
        why = f"no stamp for model {judge_model} (there is one for {others})"
        return CalibrationState(calibrated=False, why=for_terminal(why))
    compared = [(_differences(stamp, reasoning, hashes, gallery_hash), stamp) for stamp in of_model]
    lacks, stamp = min(
        compared, key=lambda pair: (len(pair[0]), -pair[1].calibrated_at.timestamp())
    )
    if lacks:
        return CalibrationState(calibrated=False, why="; ".join(lacks))
    why = (
        f"all {len(stamp.specimens)} specimens met on {stamp.calibrated_at:%Y-%m-%d}"
        f" ({stamp.file_name})"
    )
    return CalibrationState(calibrated=True, why=why)


def _differences(
    stamp: CalibrationStamp, reasoning: ReasoningMode, hashes: dict[str, str], gallery_hash: str
) -> list[str]:
    lacks = []
    changed = [name for name, digest in hashes.items() if stamp.prompt_hashes[name] != digest]
    if changed:
        names = " and ".join(name.rsplit("/", 1)[1] for name in changed)
        lacks.append(f"the stamp is for other prompts: {names} changed")
    if stamp.reasoning != reasoning:
        lacks.append(f"the stamp is for reasoning {stamp.reasoning}, the run has {reasoning}")
    if stamp.gallery_hash != gallery_hash:
        lacks.append("the gallery changed since the stamp")
    if not stamp.all_met:
        shown = ", ".join(stamp.unmet[:3]) + (", …" if len(stamp.unmet) > 3 else "")  # noqa: PLR2004  a taste, the stamp has all
        count = f"{len(stamp.unmet)} of {len(stamp.specimens)} specimens"
        lacks.append(for_terminal(f"{count} not met ({shown})"))
    return lacks

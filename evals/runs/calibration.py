"""Calibration: whether this judge, as it is set up, has met the gallery (1.6.1).

A stamp is written by a whole run of the gallery; a run is calibrated by a stamp in which every
specimen was met, for exactly its judge model, prompts and reasoning mode (1.5), for this version of
the instruments and for the gallery as it is shipped now. Once it has run, it stays calibrated only
if no other model answered it than answered the gallery.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from evals import BENCH_VERSION
from evals.defaults import ROOT
from evals.errors import CalibrationError, RunError
from evals.premise.schema import TimeStatus
from evals.records import ReasoningMode, Record
from evals.runs.writer import write_atomically
from evals.untrusted import for_id, for_terminal

_STAMP_MODE = 0o644
"""A stamp quotes nobody, and is shared in git."""
STAMPS_DIR = ROOT / "calibration" / "stamps"
CALIBRATED_PROMPTS = ("premise/pass_1", "premise/pass_2", "premise/attribution_search")
"""The prompts that the gallery measures: the verdict rests on the two passes (1.3), the attribution
of a failure on the search too (1.4)."""


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
    """Both passes, the verdict that they come to, and the attribution of its failure."""
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
    """Of what ``CALIBRATED_PROMPTS`` was then; an older stamp may have others."""
    gallery_hash: str
    bench_version: str
    calibrated_at: AwareDatetime
    specimens: tuple[SpecimenResult, ...] = Field(min_length=1)
    all_met: bool

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.all_met != (not self.unmet):
            raise ValueError("all_met and the specimens contradict each other")
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
    models_served: tuple[str, ...]
    """The models that answered the gallery for the matching stamp; empty where not calibrated."""


def write_stamp(stamp: CalibrationStamp, stamps_dir: Path) -> Path:
    """Write a stamp, in place of an older one of the same judge; return its path.

    A stamp that says the same, but for the day, stays as it is: calibrating again with the same
    answers changes no tracked file.

    Raises:
        CalibrationError: it cannot be written.
    """
    path = stamps_dir / stamp.file_name
    if path.exists():
        again = {"calibrated_at": stamp.calibrated_at}
        if read_stamp(path).model_copy(update=again) == stamp:
            return path
    try:
        stamps_dir.mkdir(parents=True, exist_ok=True)
        write_atomically(path, stamp.model_dump_json(indent=2), _STAMP_MODE)
    except (OSError, RunError) as error:
        raise CalibrationError(
            str(path),
            error.found if isinstance(error, RunError) else str(error),
            "a place that can be written",
            "Mend its permissions.",
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
    bench_version: str = BENCH_VERSION,
    stamps_dir: Path = STAMPS_DIR,
) -> CalibrationState:
    """Return whether some stamp covers exactly this judge, or what the closest one lacks.

    Args:
        judge_model: the model that the run asks.
        reasoning: the run's reasoning mode.
        prompt_hashes: prompt name -> hash; holds ``CALIBRATED_PROMPTS``, others are left aside.
        gallery_hash: of the shipped gallery.
        bench_version: of the instruments that the run judges with.
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
        return _not_calibrated(for_terminal(why))
    run = _Judge(reasoning, hashes, gallery_hash, bench_version)
    compared = [(_differences(stamp, run), stamp) for stamp in of_model]
    lacks, stamp = min(
        compared, key=lambda pair: (len(pair[0]), -pair[1].calibrated_at.timestamp())
    )
    if lacks:
        return _not_calibrated("; ".join(lacks))
    why = (
        f"all {len(stamp.specimens)} specimens met on {stamp.calibrated_at:%Y-%m-%d}"
        f" ({stamp.file_name})"
    )
    return CalibrationState(calibrated=True, why=why, models_served=stamp.models_served)


def after_run(state: CalibrationState, models_served: Iterable[str]) -> CalibrationState:
    """Return what a finished run's calibration comes to, now that it is known who answered.

    A model id can be served by another model than when the gallery ran (an alias moved on): then
    the stamp says nothing about the answers of this run.

    Args:
        state: from ``calibration_state``, before the run.
        models_served: every model id that answered in the run, in any order; none changes nothing.
    """
    if not state.calibrated:
        return state
    strangers = sorted(set(models_served) - set(state.models_served))
    if not strangers:
        return state
    stamped = ", ".join(state.models_served) or "no model at all"
    why = f"the run was answered by {', '.join(strangers)}, the stamp's gallery by {stamped}"
    return _not_calibrated(for_terminal(why, 300))


def _not_calibrated(why: str) -> CalibrationState:
    return CalibrationState(calibrated=False, why=why, models_served=())


class _Judge(NamedTuple):
    """What a stamp must agree in, beside the model asked for."""

    reasoning: ReasoningMode
    hashes: dict[str, str]
    gallery_hash: str
    bench_version: str


def _differences(stamp: CalibrationStamp, run: _Judge) -> list[str]:
    lacks = []
    known = stamp.prompt_hashes
    changed = [name for name, digest in run.hashes.items() if known.get(name) != digest]
    if changed:
        names = ", ".join(name.rsplit("/", 1)[1] for name in changed)
        lacks.append(f"the stamp is for other prompts: {names} changed")
    if stamp.reasoning != run.reasoning:
        lacks.append(f"the stamp is for reasoning {stamp.reasoning}, the run has {run.reasoning}")
    if stamp.gallery_hash != run.gallery_hash:
        lacks.append("the gallery changed since the stamp")
    if stamp.bench_version != run.bench_version:
        older = for_terminal(stamp.bench_version, 40)
        lacks.append(f"the stamp is for bench version {older}, the run has {run.bench_version}")
    if not stamp.all_met:
        shown = ", ".join(stamp.unmet[:3]) + (", …" if len(stamp.unmet) > 3 else "")  # noqa: PLR2004  a taste, the stamp has all
        count = f"{len(stamp.unmet)} of {len(stamp.specimens)} specimens"
        lacks.append(for_terminal(f"{count} not met ({shown})"))
    return lacks

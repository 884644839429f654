"""The gallery file, read strictly, and the cases that the evaluation runs."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from calibration.case import SpecimenCase, SpecimenRow
from calibration.specimen import Specimen
from calibration.strict_yaml import read_yaml
from evals.defaults import ROOT
from evals.errors import CalibrationError
from evals.premise.render import load_premise_prompts
from evals.untrusted import for_terminal

__all__ = [
    "SHIPPED_GALLERY",
    "Gallery",
    "SpecimenRow",
    "gallery_cases",
    "gallery_hash",
    "load_gallery",
]

SHIPPED_GALLERY = ROOT / "calibration" / "specimens.yaml"

_TODO = "Correct the file; calibration/specimens.yaml shows the form."


@dataclass(frozen=True)
class Gallery:
    """Every specimen of one file, in its order."""

    specimens: tuple[Specimen, ...]

    @cached_property
    def gallery_hash(self) -> str:
        """sha256 over all that is judged or asserted, 64 hex digits; comments do not count."""
        content = [specimen.model_dump(mode="json", exclude={"why"}) for specimen in self.specimens]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load_gallery(path: Path) -> Gallery:
    """Read a gallery file.

    Raises:
        CalibrationError: it is not YAML of the gallery's form; names the specimen and the key.
    """
    content = read_yaml(path)
    if not isinstance(content, dict) or list(content) != ["specimens"]:
        found = f"the keys {', '.join(content)}" if isinstance(content, dict) else _kind(content)
        raise CalibrationError(str(path), for_terminal(found), "the one key `specimens`", _TODO)
    given = content["specimens"]
    if not isinstance(given, tuple) or not given:
        raise CalibrationError(
            f"{path}: specimens", _kind(given), "a list of at least one specimen", _TODO
        )
    specimens = tuple(_specimen(path, number, item) for number, item in enumerate(given, 1))
    twice = [name for name, n in Counter(item.id for item in specimens).items() if n > 1]
    if twice:
        raise CalibrationError(
            f"{path}: specimen {for_terminal(twice[0])}, key id",
            "the same id twice",
            "an id of its own for each specimen",
            _TODO,
        )
    return Gallery(specimens)


def gallery_hash(path: Path) -> str:
    """Return ``Gallery.gallery_hash`` of a file.

    Raises:
        CalibrationError: see ``load_gallery``.
    """
    return load_gallery(path).gallery_hash


def gallery_cases(path: Path) -> dict[str, tuple[SpecimenCase, ...]]:
    """Return the cases of ``calibration/test_gallery.py`` by test function name.

    Raises:
        CalibrationError: see ``load_gallery``.
        PromptError: a prompt of the premise judge cannot be read.
    """
    specimens = load_gallery(path).specimens
    prompts = load_premise_prompts()
    return {
        "test_pass_1": tuple(SpecimenCase(item, "pass_1", prompts) for item in specimens),
        "test_both_passes": tuple(SpecimenCase(item, "both_passes", prompts) for item in specimens),
    }


def _specimen(path: Path, number: int, given: Any) -> Specimen:
    if not isinstance(given, dict):
        raise CalibrationError(f"{path}: specimen {number}", _kind(given), "a mapping", _TODO)
    name = given["id"] if isinstance(given.get("id"), str) else f"number {number}"
    try:
        return Specimen.model_validate(given)
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        also = ", ".join(dict.fromkeys(map(_key, others)))
        raise CalibrationError(
            f"{path}: specimen {for_terminal(name, 80)}, key {_key(first)}",
            "nothing" if first["type"] == "missing" else for_terminal(repr(first["input"]), 80),
            _WANTED.get(first["type"]) or for_terminal(first["msg"].removeprefix("Value error, ")),
            f"{_TODO} Wrong there too: {also}." if also else _TODO,
        ) from error


_WANTED = {"missing": "this key", "extra_forbidden": "no key of this name"}


def _key(problem: ErrorDetails) -> str:
    return for_terminal(".".join(str(part) for part in problem["loc"]) or "the whole", 80)


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {for_terminal(repr(value), 60)}"

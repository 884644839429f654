"""How evaluation files and their items are named, and how a test function comes to its cases."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evals.config import ROOT

PREMISE = "evals/premise/test_premise.py"
SET_LEVEL = "evals/set_level/test_set_level.py"
COVERAGE = "evals/coverage/test_coverage.py"
GALLERY = "calibration/test_gallery.py"

_NOTHING = pytest.param(
    None, marks=pytest.mark.skip(reason="the traces hold nothing for this evaluation")
)
"""Stands where a test function has no case, so that this is said and not passed over."""


@dataclass(frozen=True, eq=False)
class NamedCase:
    """A case of which an xdist worker knows the id alone."""

    case_id: str


def suite_paths_in(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return the evaluation files that pytest will meet when it is given ``paths``."""
    resolved = [path.resolve() for path in paths]
    return tuple(
        suite_path
        for suite_path in (PREMISE, SET_LEVEL, COVERAGE, GALLERY)
        if any(_touches(path, (ROOT / suite_path).resolve()) for path in resolved)
    )


def may_judge(config: pytest.Config) -> bool:
    """Tell whether tests are to run, and not only to be shown."""
    option = config.option
    return not (option.collectonly or option.setupplan or option.showfixtures)


def parametrize(
    metafunc: pytest.Metafunc, cases: Mapping[str, Mapping[str, Sequence[Any]]]
) -> None:
    """Give an evaluation's test function its cases.

    Args:
        metafunc: any test function; one that asks for nothing judged is passed over.
        cases: evaluation file -> test function -> cases, each with its ``case_id``.
    """
    if "judged" not in metafunc.fixturenames:
        return
    path = metafunc.definition.path.resolve()
    for suite_path, cases_by_test in cases.items():
        if (ROOT / suite_path).resolve() == path:
            own = cases_by_test[metafunc.function.__name__]
            ids = [case.case_id for case in own]
            metafunc.parametrize("case", own or [_NOTHING], ids=ids or ["nothing"])


def _touches(path: Path, suite_file: Path) -> bool:
    return path == suite_file or path in suite_file.parents

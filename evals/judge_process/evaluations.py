"""The evaluation files by name: all that is known of them before anything heavy is imported."""

from collections.abc import Iterable
from pathlib import Path

from evals.defaults import ROOT

PREMISE = "evals/premise/test_premise.py"
SET_LEVEL = "evals/set_level/test_set_level.py"
COVERAGE = "evals/coverage/test_coverage.py"
GALLERY = "calibration/test_gallery.py"


def suite_paths_in(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return the evaluation files that pytest will meet when it is given ``paths``."""
    resolved = [path.resolve() for path in paths]
    return tuple(
        suite_path
        for suite_path in (PREMISE, SET_LEVEL, COVERAGE, GALLERY)
        if any(_touches(path, (ROOT / suite_path).resolve()) for path in resolved)
    )


def _touches(path: Path, suite_file: Path) -> bool:
    return path == suite_file or path in suite_file.parents

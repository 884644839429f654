"""Which test functions evaluate which cases: the one table that knows every instrument."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from calibration.gallery import SpecimenRow, gallery_cases
from evals.config import RunConfig
from evals.coverage.case import coverage_cases
from evals.coverage.prompts import load_coverage_prompts
from evals.coverage.row import CoverageRow
from evals.judge_process.evaluations import COVERAGE, GALLERY, PREMISE, SET_LEVEL
from evals.judging.case import Case, Row
from evals.premise.case import premise_cases
from evals.premise.render import load_premise_prompts
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.set_level.case import set_level_cases
from evals.set_level.render import load_set_level_prompts
from evals.set_level.row import SetLevelRow
from evals.traces import Trace, load_trace

CasesByTest = Mapping[str, tuple[Case, ...]]
"""Test function name -> its cases."""


class Inputs:
    """The run's input files, each read once and only if a suite asks for it."""

    def __init__(self, config: RunConfig) -> None:
        """Take the configuration; nothing is read yet."""
        self.config = config

    @cached_property
    def traces(self) -> tuple[Trace, ...]:
        """Every trace given, imported.

        Raises:
            TraceError: one of them cannot be read.
        """
        return tuple(
            load_trace(
                path,
                trace_format=self.config.trace_format,
                skip_bad_records=self.config.skip_bad_records,
                dataset_shape=self.config.dataset_shape,
            )
            for path in self.config.trace_paths
        )

    @property
    def windows(self) -> list[Window]:
        """The windows of every trace, in order."""
        return [window for trace in self.traces for window in trace.windows]


@dataclass(frozen=True)
class Suite:
    """One evaluation file."""

    path: str
    """From the checkout's root: ``evals/premise/test_premise.py``."""
    cases: Callable[[Inputs], CasesByTest]
    row_type: type[Row]
    recorded: bool
    """Whether its rows go into the run record (the gallery's go into the calibration stamp)."""


def _premise(inputs: Inputs) -> CasesByTest:
    return {"test_conclusion": premise_cases(inputs.windows, load_premise_prompts())}


def _set_level(inputs: Inputs) -> CasesByTest:
    return {"test_batch": set_level_cases(inputs.windows, load_set_level_prompts())}


def _coverage(inputs: Inputs) -> CasesByTest:
    return {"test_window": coverage_cases(inputs.windows, load_coverage_prompts())}


def _gallery(inputs: Inputs) -> CasesByTest:
    return gallery_cases(inputs.config.gallery_path)


SUITES = (
    Suite(PREMISE, _premise, ConclusionRow, recorded=True),
    Suite(SET_LEVEL, _set_level, SetLevelRow, recorded=True),
    Suite(COVERAGE, _coverage, CoverageRow, recorded=True),
    Suite(GALLERY, _gallery, SpecimenRow, recorded=False),
)

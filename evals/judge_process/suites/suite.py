"""What is known of an evaluation file once it is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evals.judge_process.inputs import Inputs
from evals.judging.case import Case

CasesByTest = Mapping[str, tuple[Case, ...]]
"""Test function name -> its cases."""


@dataclass(frozen=True)
class Suite:
    """One evaluation file."""

    path: str
    """From the checkout's root: ``evals/premise/test_premise.py``."""
    cases: Callable[[Inputs], CasesByTest]
    recorded: bool
    """Whether its rows go into the run record (the gallery's go into the calibration stamp)."""

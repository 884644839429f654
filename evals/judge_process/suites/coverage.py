"""The coverage bench: a window a case."""

from evals.coverage.case import coverage_cases
from evals.coverage.prompts import load_coverage_prompts
from evals.judge_process.evaluations import COVERAGE
from evals.judge_process.inputs import Inputs
from evals.judge_process.suites.suite import CasesByTest, Suite


def _cases(inputs: Inputs) -> CasesByTest:
    return {"test_window": coverage_cases(inputs.windows, load_coverage_prompts())}


SUITE = Suite(COVERAGE, _cases, recorded=True)

"""The set-level bench: a batch a case."""

from evals.judge_process.evaluations import SET_LEVEL
from evals.judge_process.inputs import Inputs
from evals.judge_process.suites.suite import CasesByTest, Suite
from evals.set_level.case import set_level_cases
from evals.set_level.render import load_set_level_prompts


def _cases(inputs: Inputs) -> CasesByTest:
    return {"test_batch": set_level_cases(inputs.windows, load_set_level_prompts())}


SUITE = Suite(SET_LEVEL, _cases, recorded=True)

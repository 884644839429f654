"""The premise judge: a conclusion a case."""

from evals.judge_process.evaluations import PREMISE
from evals.judge_process.inputs import Inputs
from evals.judge_process.suites.suite import CasesByTest, Suite
from evals.premise.case import premise_cases
from evals.premise.render import load_premise_prompts


def _cases(inputs: Inputs) -> CasesByTest:
    return {"test_conclusion": premise_cases(inputs.windows, load_premise_prompts())}


SUITE = Suite(PREMISE, _cases, recorded=True)

"""The specimen gallery: a specimen a case, in each stage."""

from calibration.gallery import gallery_cases
from evals.judge_process.evaluations import GALLERY
from evals.judge_process.inputs import Inputs
from evals.judge_process.suites.suite import CasesByTest, Suite


def _cases(inputs: Inputs) -> CasesByTest:
    return gallery_cases(inputs.config.gallery_path)


SUITE = Suite(GALLERY, _cases, recorded=False)
"""Its rows go into the calibration stamp."""

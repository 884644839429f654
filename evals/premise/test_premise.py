"""Evaluation: every conclusion of the trace, judged in two passes.

A verdict is a recorded outcome, ``sound`` or ``unsound``, and fails nothing; an isolation leak is
an error of the test and stops the run.
"""

from collections.abc import Callable

from evals.judging.judged import Judged


def test_conclusion(judged: Judged, record_outcome: Callable[[Judged], None]) -> None:
    """A stranger can use the conclusion, and the window licenses it; or the row says why not."""
    record_outcome(judged)

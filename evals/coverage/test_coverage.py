"""Evaluation: every window of the trace: how much of what it holds the conclusions carry.

What is missed is recorded and fails nothing; a window without gold is ``unjudged``; a leak into the
answering call is an error of the test and stops the run.
"""

from collections.abc import Callable

from evals.judging.judged import Judged


def test_window(judged: Judged, record_outcome: Callable[[Judged], None]) -> None:
    """The window's gold is matched and its questions are answered, or the row says what was not."""
    record_outcome(judged)

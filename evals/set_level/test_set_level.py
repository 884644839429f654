"""Evaluation: every batch of the trace, held against itself: redundancy, contradictions in time.

What is found is recorded and fails nothing; a batch without an answer is ``unjudged``.
"""

from collections.abc import Callable

from evals.judging.judged import Judged


def test_batch(judged: Judged, record_outcome: Callable[[Judged], None]) -> None:
    """The batch's conclusions are told apart, or the row says why they could not be."""
    record_outcome(judged)

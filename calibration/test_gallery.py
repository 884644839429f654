"""Evaluation: the judge must reproduce every adjudicated specimen (1.6.1). Hard asserts.

``--gallery FILE`` runs another file of the same form. A whole run writes the calibration stamp.
"""

from evals.judging.judged import Judged


def test_pass_1(judged: Judged) -> None:
    """Pass 1 alone, from the text alone, shows what was adjudicated."""
    assert not judged.shortfall, judged.shortfall


def test_both_passes(judged: Judged) -> None:
    """Both passes show what was adjudicated, and come to the adjudicated verdict."""
    assert not judged.shortfall, judged.shortfall

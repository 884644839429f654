"""Evaluation: the judge must reproduce every adjudicated specimen (1.6.1). Hard asserts.

``--gallery FILE`` runs another file of the same form. A whole run writes the calibration stamp.
"""

from calibration.case import SpecimenCase, SpecimenRow


def test_pass_1(case: SpecimenCase, judged: SpecimenRow) -> None:
    """Pass 1 alone, from the text alone, shows what was adjudicated."""
    assert (judged.specimen_id, judged.mode) == (case.specimen.id, "pass_1")
    assert judged.met, judged.shortfall


def test_both_passes(case: SpecimenCase, judged: SpecimenRow) -> None:
    """Both passes show what was adjudicated, and come to the adjudicated verdict."""
    assert (judged.specimen_id, judged.mode) == (case.specimen.id, "both_passes")
    assert judged.met, judged.shortfall

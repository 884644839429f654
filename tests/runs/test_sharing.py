"""Provenance held once must change nothing but memory."""

from collections.abc import Callable

from evals.premise.row import ConclusionRow
from evals.runs.sharing import SharedProvenance


def test_equal_provenance_of_a_window_is_held_once_and_rows_say_the_same(
    make_row: Callable[..., ConclusionRow],
) -> None:
    conclusion_row = make_row()
    shared = SharedProvenance()
    text = conclusion_row.model_dump_json()
    first, second = (shared.of(ConclusionRow.model_validate_json(text)) for _ in range(2))
    assert first.provenance is second.provenance
    assert first == second == conclusion_row
    assert second.model_dump_json() == text


def test_provenance_that_differs_in_anything_stays_a_rows_own(
    make_row: Callable[..., ConclusionRow],
) -> None:
    conclusion_row = make_row()
    shared = SharedProvenance()
    shared.of(conclusion_row)
    other = conclusion_row.provenance.model_copy(update={"deriver_model_id": "another"})
    changed = conclusion_row.model_copy(update={"provenance": other})
    assert shared.of(changed).provenance is other

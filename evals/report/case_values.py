"""Everything that ``cases.html`` shows of one case, as plain JSON values.

A field that is null in a row is absent here, so that the page can tell "not judged" from "none".
"""

from collections.abc import Mapping

from evals.premise.row import ConclusionRow
from evals.report import numbers
from evals.report.shared_values import SharedTexts, deriver_values, unjudged_values


class CaseDetails:
    """Makes each row's line; what rows share goes into ``shared``, once."""

    def __init__(self, window_positions: Mapping[str, int]) -> None:
        """Take window id -> line of that window on the page."""
        self._window_positions = window_positions
        self._texts = SharedTexts()

    @property
    def shared(self) -> dict[str, object]:
        """Model ids, prompt hashes and provenance, by number."""
        return self._texts.values

    def of(self, row: ConclusionRow) -> dict[str, object]:
        """Return everything about a row that the index does not hold; absent where it is null."""
        values: dict[str, object] = {
            "window": self._window_positions[row.provenance.window_id],
            "words": row.token_count,
            "calls": [self._texts.call(call) for call in row.calls],
            "provenance": self._texts.provenance(row),
            "deriver": deriver_values(row),
        }
        values.update(_pass_1(row) | _pass_2(row) | _minimality(row))
        for key, unjudged in (
            ("unjudged", row.unjudged),
            ("minimality_unjudged", row.minimality_unjudged),
            ("attribution_unjudged", row.attribution_unjudged),
        ):
            if unjudged is not None:
                values[key] = unjudged_values(unjudged)
        return values


def _pass_1(row: ConclusionRow) -> dict[str, object]:
    if row.pass_1 is None:
        return {}
    return {
        "reconstruction": row.pass_1.reconstruction,
        "slots": [[slot.slot, slot.why] for slot in row.pass_1.unknown_slots],
        "inference": row.pass_1.licensed_inference,
        "force": row.pass_1.force,
        "bundled": row.pass_1.bundled,
        "labels_1": row.pass_1.labels,
    }


def _pass_2(row: ConclusionRow) -> dict[str, object]:
    if row.pass_2 is None:
        return {}
    return {
        "license": row.pass_2.license_check,
        "interpretation": row.pass_2.interpretation,
        "unsupported": [[item.element, item.kind, item.why] for item in
                        row.pass_2.unsupported_elements],
        "force_preserved": row.pass_2.force_preserved,
        "missing": [[item.slot, item.attribution, item.evidence] for item in row.missing],
        "scope": row.attribution_scope,
        "labels_2": row.pass_2.labels,
    }  # fmt: skip


def _minimality(row: ConclusionRow) -> dict[str, object]:
    if row.minimality is None:
        return {}
    return {
        "minimality": numbers.score(row.minimality.minimality),
        "claims": row.minimality.claims,
        "padding": row.minimality.padding,
    }

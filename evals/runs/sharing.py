"""What the rows of a run have in common is held once, so that many of them fit into memory."""

from typing import TypeVar

from evals.judging.case import Row
from evals.records import Provenance

RowT = TypeVar("RowT", bound=Row)


class SharedProvenance:
    """A third of a row is its provenance, and the conclusions of a window have the same."""

    def __init__(self) -> None:
        self._seen = dict[tuple[str, str], Provenance]()

    def of(self, row: RowT) -> RowT:
        """Return ``row``, with the provenance of an earlier one in place of its own equal one."""
        own = row.provenance
        known = self._seen.setdefault((row.instrument, own.window_id), own)
        if known is own or known != own:
            return row
        return row.model_copy(update={"provenance": known})

"""The row of one conclusion: everything that metrics and report are made from."""

import math
from typing import Literal

from evals.judging.case import Row
from evals.premise.schema import Attribution, MinimalityItem, Pass1, Pass2, TimeStatus
from evals.premise.verdict import Verdict
from evals.records import Record, Unjudged


class AttributedSlot(Record):
    """An open slot of a failed conclusion, and where it could have been settled (1.4)."""

    slot: str
    attribution: Attribution
    evidence: str


class ConclusionRow(Row):
    """One judged, or unjudged, conclusion."""

    kind: Literal["conclusion"]
    instrument: Literal["premise"]
    conclusion_id: str
    conversation_id: str | None
    peer_id: str
    text: str
    verdict: Verdict | None
    """None exactly when the row is unjudged."""
    pass_1: Pass1 | None
    """Kept where pass 1 was answered, even if pass 2 was not."""
    pass_2: Pass2 | None
    minimality: MinimalityItem | None
    minimality_unjudged: Unjudged | None
    """Why there is no minimality; does not touch the verdict."""
    missing: tuple[AttributedSlot, ...]
    """Pass 2's missing slots, with the attribution search's word on absent ones where it ran."""
    attribution_scope: Literal["window", "conversation"] | None
    """How far attribution looked; None where nothing is missing or there is no pass 2."""
    attribution_unjudged: Unjudged | None
    """Why the attribution search gave nothing; pass 2's reading then stands, with scope window."""
    token_count: int
    """White-space separated words of the conclusion: the 8 to 25 diagnostic, never a score."""

    @property
    def molecular(self) -> float | None:
        """``(decontextuality * minimality) ** 0.5``, 0 to 1 (Component 1).

        None without minimality, and for an unjudged row, whatever pass 1 said.
        """
        if self.verdict is None or self.pass_1 is None or self.minimality is None:
            return None
        return math.sqrt(self.pass_1.decontextuality * self.minimality.minimality)

    @property
    def time_status(self) -> TimeStatus | None:
        """Pass 2's time status; None without pass 2."""
        return None if self.pass_2 is None else self.pass_2.time_status

    @property
    def labels(self) -> tuple[str, ...]:
        """The free-text labels of both passes, in order, with repeats."""
        parts = (self.pass_1, self.pass_2)
        return tuple(label for part in parts if part is not None for label in part.labels)

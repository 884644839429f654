"""What the test of a judged case needs to know: a few plain values, and no part of an instrument.

xdist's workers get this in place of rows, so that they need neither the instruments nor the traces.
"""

from dataclasses import dataclass
from typing import Literal

from evals.errors import UnjudgedReason

Outcome = Literal["sound", "unsound", "unjudged", "scored"]
"""What a case came to. ``scored``: a measure without a pass or fail of its own (windows)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a case came to; see ``evals.judging.case.Row``."""

    case_id: str
    instrument: str
    outcome: Outcome
    run_id: str
    unjudged_reason: UnjudgedReason | None
    """Set exactly when ``outcome`` is ``unjudged``."""
    shortfall: str
    """Why a hard assert on the case fails; empty where none does."""

"""What the test of a judged case needs to know: a few plain values, and no part of an instrument.

xdist's workers get this in place of rows, so that they need neither the instruments nor the traces.
"""

from dataclasses import dataclass

from evals.errors import UnjudgedReason


@dataclass(frozen=True)
class Judged:
    """What a case came to; see ``evals.judging.case.Row``."""

    case_id: str
    instrument: str
    outcome: str
    """One of ``evals.judging.case.Outcome``."""
    run_id: str
    unjudged_reason: UnjudgedReason | None
    """Set exactly when ``outcome`` is ``unjudged``."""
    shortfall: str
    """Why a hard assert on the case fails; empty where none does."""

"""The garbage collector's part in a run.

What a run has imported, collected and judged stays until its end, and holds few cycles. Left alone,
the collector walks all of it again and again: a third of the CPU of 5,000 conclusions (measured).
"""

import gc

_THRESHOLDS = 50_000, 20, 20
"""Allocations before a collection of the youngest; a run of 5,000 items grows by a tenth."""


def relax() -> None:
    """Leave what there is out of all later collections, and collect what comes less often."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)

"""Traces: what a deriver saw and what it minted, read from whichever format holds it.

``load_trace`` reads; ``WindowLog`` writes the project's own format at derivation time (4.1). One
module a format (``honcho``, ``locomo``, ``jsonl``), each a ``TraceFormat``; ``loading`` chooses.
"""

from evals.traces.loading import TRACE_FORMATS, load_trace
from evals.traces.trace import ImportReport, SkippedRecord, Trace
from evals.traces.window_log import WindowLog

__all__ = [
    "TRACE_FORMATS",
    "ImportReport",
    "SkippedRecord",
    "Trace",
    "WindowLog",
    "load_trace",
]

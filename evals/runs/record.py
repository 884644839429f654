"""The run record on disk: ``reports/<run_id>/`` (design section 3).

``run.json`` what was run and with what; ``windows.jsonl`` each window once; ``rows.jsonl`` a line
as each item ends; ``summary.json`` every metric, for other programs: this project makes it again
from the rows and never reads it back. All of it is the user's alone (mode 0700 and 0600).
"""

from evals.runs.info import RunInfo
from evals.runs.load import LoadedRun, load_run
from evals.runs.writer import RunWriter

__all__ = ["LoadedRun", "RunInfo", "RunWriter", "load_run"]

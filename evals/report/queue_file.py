"""``labelling_queue.jsonl``: wrong answers with the conclusions behind them, for a person (3.4)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.coverage.queue import labelling_queue
from evals.coverage.row import CoverageRow
from evals.errors import RunError
from evals.judging.case import Row
from evals.records import Window
from evals.runs.stored import rows_of
from evals.runs.writer import write_atomically

QUEUE_FILE = "labelling_queue.jsonl"


def write_queue(run_dir: Path, rows: Sequence[Row], windows: Mapping[str, Window]) -> Path | None:
    """Write the queue into the run's folder, one item a line, and return its path.

    None, and no file, where the run holds no row of the coverage bench: an empty file says that
    there was no wrong answer.

    Raises:
        RunError: it cannot be written, or a row names a conclusion that its window does not have.
    """
    judged = rows_of(CoverageRow, rows)
    if not judged:
        return None
    path = run_dir / QUEUE_FILE
    lines = [item.model_dump_json() for item in labelling_queue(judged, windows)]
    if lines:
        write_atomically(path, "\n".join(lines))
    else:  # no lines, and so no line break either
        _write_empty(path)
    return path


def _write_empty(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise RunError(
            str(path), str(error), "a file that can be written", "Free the disk, or the folder."
        ) from error

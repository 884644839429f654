"""``python -m evals.report reports/<run_id>``: draw and gate a finished run again.

Reads the run record alone: no key, no call. Writes ``cases.html``, ``windows.html``, the labelling
queue and ``summary.json`` anew and prints the summary; ``report.html`` is pytest-html's and stays
as the run wrote it.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from evals.errors import EvalError
from evals.report import numbers
from evals.report.cases import write_cases
from evals.report.queue_file import write_queue
from evals.report.terminal import paths_in, summary_lines
from evals.report.windows import write_windows
from evals.runs.gates import check_gates, parse_gates
from evals.runs.info import SUMMARY_FILE
from evals.runs.load import load_run
from evals.runs.writer import write_atomically

EXIT_FINE, EXIT_ERROR, EXIT_USAGE, EXIT_GATE = 0, 1, 4, 10
"""As of ``pytest evals/`` (design section 6)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0 fine; 10 a gate fell short; 4 usage; 1 the record cannot be read, or the run did not come to
    its end: what is left of it is drawn, and passes nothing.
    """
    options = _parser().parse_args(arguments)
    try:
        given = parse_gates(options.gate)
    except EvalError as error:
        return _complain(error, EXIT_USAGE)
    try:
        run = load_run(options.run_dir)
        # Against the rows as they are now: what run.json says of its gates is not taken on trust.
        checked = check_gates(given or parse_gates(run.info.gate_expressions), run.summary)
        info = run.info.model_copy(update={"gates": checked})
        write_cases(options.run_dir, info, run.conclusions, run.windows)
        write_windows(options.run_dir, info, run.rows, run.windows)
        write_queue(options.run_dir, run.rows, run.windows)
        write_atomically(options.run_dir / SUMMARY_FILE, run.summary.model_dump_json(indent=2))
    except EvalError as error:
        return _complain(error, EXIT_ERROR)
    lines = summary_lines(info, run.summary, paths_in(options.run_dir))
    if run.cut_rows:
        lines.insert(0, f"The last {numbers.counted(run.cut_rows, 'row')} was cut and left out.")
    _write(sys.stdout, lines)
    if not info.complete:
        text = "The run did not come to its end: its figures and gates cover a part of it."
        _write(sys.stderr, [text])
        return EXIT_ERROR
    return EXIT_FINE if all(gate.passed for gate in checked) else EXIT_GATE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evals.report",
        description="Draw and gate a finished run again, from its record alone.",
    )
    parser.add_argument("run_dir", type=Path, help="folder of the run: reports/<run_id>")
    parser.add_argument(
        "--gate",
        action="append",
        default=[],
        metavar="'pass_rate >= 0.8'",
        help="in place of the gates that the run was given; may be given several times",
    )
    return parser


def _complain(error: EvalError, code: int) -> int:
    _write(sys.stderr, [str(error)])
    return code


def _write(stream: TextIO, lines: Sequence[str]) -> None:
    # A terminal that cannot show a character gets its escape, not a traceback.
    encoding = stream.encoding or "utf-8"
    text = "".join(f"{line}\n" for line in lines)
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


if __name__ == "__main__":
    sys.exit(main())

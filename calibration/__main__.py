"""``python -m calibration audit-gold``: have a person check the judge's gold (3.7).

``write`` makes a sheet of a finished run; the person marks it; ``read`` says how precise the gold
is, and leaves the corrected gold where later runs find it. Exit codes: 0 done, 2 refused, with one
message that says why.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from calibration.audit import AuditOutcome, merged_gold, outcome_of, sheet_of
from calibration.audit_read import read_sheet
from calibration.audit_sheet import sheet_text
from evals.coverage.case import AUDITED_GOLD_DIR
from evals.coverage.row import CoverageRow
from evals.errors import CalibrationError, EvalError
from evals.judging.case import Row
from evals.report import numbers
from evals.runs.load import load_run
from evals.untrusted import for_terminal

_REFUSED = 2
_FILE_MODE = 0o600
"""As of a run record: sheet, gold and examples hold what people said."""
_WINDOWS = 5
"""Enough for a first look at the gold (3.7: 5 to 10), little enough for one sitting."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        lines = _write(options) if options.step == "write" else _read(options)
    except EvalError as error:
        sys.stderr.write(f"error: {error}\n")
        return _REFUSED
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m calibration", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    audit = commands.add_parser("audit-gold", help="have a person check the judge's gold")
    steps = audit.add_subparsers(dest="step", required=True)
    writing = steps.add_parser("write", help="write a sheet to mark")
    writing.add_argument("--run", type=Path, required=True, metavar="DIR", help="reports/<run_id>")
    writing.add_argument("--windows", type=_count, default=_WINDOWS, metavar="N")
    writing.add_argument("--into", type=Path, required=True, metavar="FILE", help="a new file")
    reading = steps.add_parser("read", help="take in a marked sheet")
    reading.add_argument("sheet", type=Path, metavar="FILE")
    reading.add_argument("--gold-dir", type=Path, default=AUDITED_GOLD_DIR, metavar="DIR")
    reading.add_argument("--replace", action="store_true", help="overwrite an earlier audit's gold")
    return parser


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        message = f"found {for_terminal(text, 40)!r}; wanted a whole number from 1"
        raise argparse.ArgumentTypeError(message)
    return value


def _write(options: argparse.Namespace) -> list[str]:
    run = load_run(options.run)
    rows = _coverage_rows(run.rows)
    sheet = sheet_of(run.info.run_id, run.info.judge_model, rows, run.windows, options.windows)
    try:
        options.into.touch(mode=_FILE_MODE, exist_ok=False)
        options.into.write_text(sheet_text(sheet), encoding="utf-8")
    except OSError as error:
        raise CalibrationError(
            str(options.into), str(error), "a new file", "Name another with --into: marks are work."
        ) from error
    facts = numbers.counted(sum(len(window.facts) for window in sheet.windows), "gold fact")
    windows = f"{numbers.count(len(sheet.windows))} of {numbers.counted(len(rows), 'window')}"
    return [
        f"{facts} of {windows} written to {for_terminal(str(options.into))}",
        "Mark each fact, then: python -m calibration audit-gold read FILE",
    ]


def _coverage_rows(rows: Sequence[Row]) -> list[CoverageRow]:
    return [row for row in rows if isinstance(row, CoverageRow)]


def _read(options: argparse.Namespace) -> list[str]:
    outcome = outcome_of(read_sheet(options.sheet))
    # Every conflict shows before the first file is written.
    merged = [merged_gold(gold, options.gold_dir, replace=options.replace) for gold in outcome.gold]
    for path, gold in merged:
        _save(path, gold.model_dump_json(indent=2) + "\n")
    examples = options.sheet.with_suffix(".examples.jsonl")
    _save(examples, "".join(item.model_dump_json() + "\n" for item in outcome.examples))
    return [*_outcome_lines(outcome), *_file_lines(outcome, options.gold_dir, examples)]


def _save(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)  # left by a killed writer
        beside.touch(mode=_FILE_MODE)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise CalibrationError(
            str(path), str(error), "a place that can be written", "Mend its permissions."
        ) from error


def _outcome_lines(outcome: AuditOutcome) -> list[str]:
    rate = outcome.precision
    # Unjudged facts are those that nobody has marked yet; they are named so below.
    precision = f"{numbers.rate_value(rate)} ({', '.join(numbers.rate_parts(rate)[:-1])})"
    marks = {
        "right": outcome.right,
        "fix": outcome.fix,
        "wrong": outcome.wrong,
        "unmarked": rate.unjudged,
    }
    return [
        f"gold precision   {precision}",
        f"marks            {', '.join(f'{name} {number}' for name, number in marks.items())}",
        f"left out         {numbers.counted(outcome.missing, 'fact')} that the judge did not find",
    ]


def _file_lines(outcome: AuditOutcome, gold_dir: Path, examples: Path) -> list[str]:
    finished = numbers.counted(len(outcome.gold), "finished window")
    labelled = numbers.counted(len(outcome.examples), "labelled statement")
    return [
        f"corrected gold   {finished}, written to {for_terminal(str(gold_dir))}",
        f"examples         {labelled}, written to {for_terminal(str(examples))}",
        *(
            f"unfinished       window {for_terminal(name, 80)}: {for_terminal(todo)}"
            for name, todo in outcome.unfinished.items()
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())

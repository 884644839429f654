"""``python -m evals.judging``: take answers in that were made elsewhere, and look at one.

Exit codes: 0 done, 2 refused, with one message that says why.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evals.defaults import DEFAULT_STORE, RECORDINGS_DIR
from evals.errors import EvalError, ExchangeError, StoreError
from evals.judging.answer_sources import AnswerFiles, BatchResults
from evals.judging.imports import ImportReport, import_answers
from evals.judging.message import ApiMessage, NotAMessageError, parse_message
from evals.judging.recordings import Recordings
from evals.judging.store import AnswerStore
from evals.untrusted import for_terminal

_REFUSED = 2
_SHOWN = 20
_LINE_LENGTH = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        lines = _import(options) if options.command == "import" else _show(options)
    except EvalError as error:
        sys.stderr.write(f"error: {error}\n")
        return _REFUSED
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.judging", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    taking = commands.add_parser("import", help="take in answers to exported requests")
    taking.add_argument("--requests", type=Path, required=True, metavar="DIR", help="the export")
    source = taking.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--results", type=Path, nargs="+", metavar="FILE", help="Message Batches results"
    )
    source.add_argument("--answers", type=Path, metavar="DIR", help="files <custom_id>.*")
    taking.add_argument("--served-model", metavar="ID", help="who wrote --answers")
    taking.add_argument(
        "--into",
        type=Path,
        default=DEFAULT_STORE,
        metavar="PATH",
        help="an answer store, or a recordings file that ends in .jsonl (default: %(default)s)",
    )
    taking.add_argument("--replace", action="store_true", help="overwrite different answers")
    showing = commands.add_parser("show", help="print one stored answer")
    showing.add_argument("hash", help="request hash, or the beginning of one")
    showing.add_argument("--store", type=Path, default=DEFAULT_STORE, metavar="FILE")
    showing.add_argument("--recordings", type=Path, default=RECORDINGS_DIR, metavar="DIR")
    return parser


def _import(options: argparse.Namespace) -> list[str]:
    answers: BatchResults | AnswerFiles
    if options.results is not None:
        _check(options.served_model is None, "--served-model with --results", "--answers", "it")
        answers = BatchResults(tuple(options.results))
    else:
        _check(options.served_model, "--answers alone", "--served-model beside it", "the model id")
        answers = AnswerFiles(options.answers, options.served_model)
    report = import_answers(options.requests, answers, options.into, replace=options.replace)
    return _report_lines(report, options.into)


def _check(holds: object, found: str, wanted: str, what: str) -> None:
    if not holds:
        todo = f"Give {what} with --answers DIR --served-model ID, or use --results FILE alone."
        raise ExchangeError("import", found, wanted, todo)


def _report_lines(report: ImportReport, into: Path) -> list[str]:
    lines = [
        f"{report.requested} requests exported",
        f"{report.written} answers written to {for_terminal(str(into))}",
        f"{report.already_there} were there already",
    ]
    lines += [f"{count} {kind}: not stored" for kind, count in sorted(report.failed.items())]
    for what, ids in (
        ("answered twice, alike", report.doubled),
        ("failed", report.failed_ids),
        ("missing", report.missing),
    ):
        if ids:
            lines.append(f"{len(ids)} {what}:")
            lines += [f"  {each}" for each in ids[:_SHOWN]]
            lines += [f"  and {len(ids) - _SHOWN} more"] if len(ids) > _SHOWN else []
    return lines


def _show(options: argparse.Namespace) -> list[str]:
    recordings = Recordings(options.recordings)
    # Looking must not make an empty store.
    store = AnswerStore(options.store) if options.store.exists() else None
    try:
        kept = () if store is None else store.hashes_starting_with(options.hash)
        hashes = sorted({*kept, *recordings.hashes_starting_with(options.hash)})
        if len(hashes) != 1 or not options.hash:
            raise StoreError(
                f"{options.store} and {options.recordings}",
                f"{len(hashes)} answers to requests that start with {for_terminal(options.hash)!r}",
                "one",
                "Give more of the hash." if hashes else "Check the hash and --store.",
            )
        request_hash = hashes[0]
        stored = None if store is None else store.get(request_hash)
        if stored is not None:
            notes = [
                f"from           {for_terminal(str(options.store))}",
                f"model asked    {for_terminal(stored.model_asked)}",
                f"received       {stored.received_at or 'unknown'}",
            ]
            return [f"request        {request_hash}", *notes, *_message_lines(stored.message)]
        text = recordings.message_of(request_hash)
        assert text is not None
        origin = f"from           {for_terminal(str(options.recordings))}"
        return [f"request        {request_hash}", origin, *_message_lines(text)]
    finally:
        if store is not None:
            store.close()


def _message_lines(text: str) -> list[str]:
    try:
        message: ApiMessage = parse_message(text)
    except NotAMessageError as error:
        raise StoreError("the answer", str(error), "a Message", "Import it again.") from None
    usage = message.usage
    tokens = "unknown" if usage is None else f"{usage.input_tokens} in, {usage.output_tokens} out"
    return [
        f"model served   {for_terminal(message.model)}",
        f"stop reason    {for_terminal(message.stop_reason or 'unknown')}",
        f"tokens         {tokens}",
        "",
        *(for_terminal(line, _LINE_LENGTH) for line in message.text.split("\n")),
    ]


if __name__ == "__main__":
    sys.exit(main())

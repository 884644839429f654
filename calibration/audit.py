"""The gold audit (3.7): a person marks the judge's gold, and what comes of the marks.

Three things: the precision of the gold extraction; gold that later runs use in the judge's place;
and labelled statements, from which the human gold set (1.6.2) can draw.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from calibration.audit_sheet import (
    FactVerdict,
    Sheet,
    SheetFact,
    SheetWindow,
    new_sheet,
    sheet_window,
)
from evals.coverage.audited import AuditedGold, audited_path, read_audited
from evals.coverage.case import peers_by_conversation, peers_of
from evals.coverage.row import CoverageRow
from evals.coverage.schema import GoldItem
from evals.errors import CalibrationError
from evals.metrics import Rate, rate_of
from evals.records import Record, Window
from evals.untrusted import for_id, for_terminal


class ExampleMessage(Record):
    """One message of an example's window; the keys are those of the gallery."""

    at: datetime | None
    peer: str
    text: str


class LabelledExample(Record):
    """A statement about a peer that a person has passed or failed; one line of the file.

    The keys up to ``window`` are those of a gallery specimen.
    """

    id: str
    peer_id: str
    conclusion: str
    verdict: Literal["pass", "fail"]
    """Whether the statement may stand as it is worded; importance does not count."""
    why: str | None
    """The person's note."""
    window: tuple[ExampleMessage, ...]
    origin: Literal["judge", "correction", "missing"]
    """Who worded it: the judge; a person correcting the judge; a person, where the judge had
    nothing."""
    marked: FactVerdict | None
    """The mark on the judge's fact; None for ``missing``."""
    source_span: str
    judge_model: str
    run_id: str
    window_id: str
    window_text_hash: str


class AuditOutcome(Record):
    """What a marked sheet comes to."""

    precision: Rate
    """Facts that are right as they stand, of those marked; ``unjudged`` are not marked yet."""
    right: int
    fix: int
    wrong: int
    missing: int
    """Facts that the judge left out."""
    gold: tuple[AuditedGold, ...]
    """Of the finished windows: every fact marked, and missing facts looked for."""
    unfinished: dict[str, str]
    """Window id -> what is still to do there."""
    examples: tuple[LabelledExample, ...]


def choose_windows(
    rows: Sequence[CoverageRow], windows: Mapping[str, Window], count: int
) -> tuple[SheetWindow, ...]:
    """Return at most ``count`` windows for a sheet: a sample that trace order does not bend.

    In the order of their text hashes, so the same run gives the same sheet, and a longer sheet of
    it begins with the shorter one. Left out: gold that is unjudged, empty or audited already, and
    the second window of the same messages and peers.

    Raises:
        CalibrationError: a gold fact is from a message that its window does not have.
    """
    chosen: list[SheetWindow] = []
    taken: dict[str, set[str]] = defaultdict(set)
    told_of = peers_by_conversation(windows.values())
    for row in sorted(rows, key=lambda row: (row.provenance.window_text_hash, row.window_id)):
        window = windows[row.window_id]
        peers = peers_of(window, told_of)
        known = taken[window.window_text_hash]
        if row.gold_source != "judge" or not row.gold or not known.isdisjoint(peers):
            continue
        known.update(peers)
        try:
            chosen.append(sheet_window(window, peers, row.gold))
        except KeyError as error:
            raise CalibrationError(
                f"window {for_terminal(row.window_id)}",
                f"gold from message {error.args[0]!r}",
                "a message of the window",
                "Judge the trace again: stored answers cost no call.",
            ) from error
        if len(chosen) == count:
            break
    return tuple(chosen)


def sheet_of(
    run_id: str,
    judge_model: str,
    rows: Sequence[CoverageRow],
    windows: Mapping[str, Window],
    count: int,
) -> Sheet:
    """Return a sheet of a run: see ``choose_windows``.

    Raises:
        CalibrationError: there is no gold to audit, or see ``choose_windows``.
    """
    chosen = choose_windows(rows, windows, count)
    if not chosen:
        raise CalibrationError(
            f"run {for_terminal(run_id)}",
            f"{len(rows)} windows of the coverage bench, none with gold of the judge's",
            "at least one",
            "Name a run of `pytest evals/coverage` whose gold was judged.",
        )
    return new_sheet(run_id, judge_model, chosen)


def outcome_of(sheet: Sheet) -> AuditOutcome:
    """Return what the marks of a sheet come to; a pure function of it."""
    marks = [fact.verdict for window in sheet.windows for fact in window.facts]
    left = {window.window_id: _left_to_do(window) for window in sheet.windows}
    return AuditOutcome(
        precision=rate_of(None if mark is None else mark == "right" for mark in marks),
        right=marks.count("right"),
        fix=marks.count("fix"),
        wrong=marks.count("wrong"),
        missing=sum(len(window.missing or ()) for window in sheet.windows),
        gold=tuple(_gold_of(window) for window in sheet.windows if not left[window.window_id]),
        unfinished={name: todo for name, todo in left.items() if todo},
        examples=tuple(
            example for window in sheet.windows for example in _examples_of(window, sheet)
        ),
    )


def merged_gold(gold: AuditedGold, folder: Path, *, replace: bool) -> tuple[Path, AuditedGold]:
    """Return where a window's audited gold goes, and what the file will hold.

    What an earlier audit settled about other peers of the same messages stays.

    Raises:
        CalibrationError: an earlier audit settled something else about one of these peers, and
            ``replace`` is False; or its file cannot be read.
    """
    path = audited_path(gold.window_text_hash, folder)
    earlier = read_audited(gold.window_text_hash, folder)
    if earlier is None:
        return path, gold
    settled = [fact for fact in earlier.facts if fact.peer_id in gold.peers]
    shared = set(earlier.peers) & set(gold.peers)
    renewed = [fact for fact in gold.facts if fact.peer_id in shared]
    if settled != renewed and not replace:
        raise CalibrationError(
            str(path),
            f"other gold about {for_terminal(', '.join(sorted(shared)), 80)}, of an earlier audit",
            "the same gold, or none",
            "Look at both; --replace puts this sheet's in place of it.",
        )
    others = [fact for fact in earlier.facts if fact.peer_id not in gold.peers]
    return path, gold.model_copy(
        update={
            "peers": tuple(sorted({*earlier.peers, *gold.peers})),
            "facts": (*others, *gold.facts),
        }
    )


def _left_to_do(window: SheetWindow) -> str:
    unmarked = [fact.gold_id for fact in window.facts if fact.verdict is None]
    parts = [f"mark {', '.join(unmarked)}"] if unmarked else []
    if window.missing is None:
        parts.append("say what is missing ([] if nothing)")
    return "; ".join(parts)


def _gold_of(window: SheetWindow) -> AuditedGold:
    kept = [_corrected(fact) for fact in window.facts if fact.verdict in {"right", "fix"}]
    return AuditedGold(
        format="audited-gold",
        version=1,
        window_text_hash=window.window_text_hash,
        peers=tuple(sorted(window.peers)),
        facts=(*kept, *(window.missing or ())),
    )


def _corrected(fact: SheetFact) -> GoldItem:
    return fact.item.model_copy(update=fact.corrections)


def _examples_of(window: SheetWindow, sheet: Sheet) -> list[LabelledExample]:
    examples = []
    for fact in window.facts:
        if fact.verdict is None:
            continue
        fails = fact.verdict == "wrong" or fact.corrected_fact is not None
        verdict: Literal["pass", "fail"] = "fail" if fails else "pass"
        example = _example(window, sheet, fact.gold_id, fact.item, verdict)
        example = example.model_copy(update={"why": fact.note, "marked": fact.verdict})
        examples.append(example)
        if fact.corrected_fact is not None:
            examples.append(
                example.model_copy(
                    update={
                        "id": f"{example.id}-corrected",
                        "conclusion": fact.corrected_fact,
                        "verdict": "pass",
                        "origin": "correction",
                    }
                )
            )
    for number, item in enumerate(window.missing or (), 1):
        example = _example(window, sheet, f"missing-{number}", item, "pass")
        examples.append(example.model_copy(update={"origin": "missing"}))
    return examples


def _example(
    window: SheetWindow, sheet: Sheet, name: str, item: GoldItem, verdict: Literal["pass", "fail"]
) -> LabelledExample:
    return LabelledExample(
        id=f"{for_id(window.window_id)}-{window.seal[:8]}-{for_id(name)}",
        peer_id=item.peer_id,
        conclusion=item.fact,
        verdict=verdict,
        why=None,
        window=tuple(
            ExampleMessage(at=message.sent_at, peer=message.peer_id, text=message.text)
            for message in window.as_messages
        ),
        origin="judge",
        marked=None,
        source_span=item.source_span,
        judge_model=sheet.judge_model,
        run_id=sheet.run_id,
        window_id=window.window_id,
        window_text_hash=window.window_text_hash,
    )

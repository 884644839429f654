"""Windows, rows and marks that the tests of the gold audit share."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from calibration.audit import sheet_of
from calibration.audit_sheet import Sheet, sheet_text
from evals.coverage.row import CoverageRow
from evals.records import Message, Window, window_text_hash_of
from tests.coverage.rows import coverage_row, gold_fact

NOON = datetime(2026, 6, 4, 12, 0, tzinfo=UTC)
TEXTS = ("I start at the bakery on Monday", "my sister Odile lent me 300 euros", "okay")
HOSTILE = (
    "</window>\u2028- verdict: right\x85\n  # no comment\n\nyes: &a *a !!python/object \t"
    "'\"\\ \u202e🎂 é \ufeff\r null ~ 2026-01-01"
)


def window(window_id: str = "w1", texts: Sequence[str] = TEXTS, peer_id: str = "vince") -> Window:
    messages = tuple(
        Message(
            message_id=f"m{number}",
            peer_id="vince",
            text=text,
            sent_at=None if number == 2 else NOON,
        )
        for number, text in enumerate(texts, 1)
    )
    return Window(
        window_id=window_id,
        conversation_id=None,
        peer_id=peer_id,
        messages=messages,
        window_text_hash=window_text_hash_of(messages),
        window_reconstructed=False,
        dataset_shape="production",
        earlier_messages=None,
        conclusions=(),
    )


def row_of(judged: Window, facts: int = 3, **changed: Any) -> CoverageRow:
    gold = [
        gold_fact("g1", fact="vince starts at the bakery on 2026-06-08", importance="CRITICAL"),
        gold_fact("g2", message_id="m2", source_span="my sister Odile"),
        gold_fact("g3", requires_inference=True),
    ]
    peer = judged.peer_id
    listed = [fact.model_copy(update={"peer_id": peer}) for fact in gold[:facts]]
    return coverage_row(judged, listed, **changed)


def sheet_for(windows: Sequence[Window], count: int = 5) -> Sheet:
    rows = [row_of(one) for one in windows]
    return sheet_of("run-1", "judge-1", rows, {one.window_id: one for one in windows}, count)


def content_of(sheet: Sheet) -> Any:
    """Return a sheet as a plain tree that a test can mark."""
    return yaml.safe_load(sheet_text(sheet))


def write(path: Path, content: Any) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def mark(content: Any, *verdicts: str | None, missing: Any = ()) -> Any:
    """Mark the facts of the first window, in order, and say what is missing there."""
    first = content["windows"][0]
    for fact, verdict in zip(first["facts"], verdicts, strict=True):
        fact["verdict"] = verdict
    first["missing"] = missing if missing is None else list(missing)
    return content


def missing_fact(**changed: Any) -> dict[str, Any]:
    """A fact that the judge left out, with the named keys changed."""
    fields = {
        "peer_id": "vince",
        "fact": "vince has a sister, Odile",
        "category": "FAMILY",
        "importance": "IMPORTANT",
        "requires_inference": False,
        "source_span": "my sister Odile",
        "licensed_inference": "he is not an only child",
    }
    assert set(changed) <= set(fields)
    return fields | changed

"""The sheet of a gold audit (3.7): YAML that a person marks; ``audit_read`` reads it back.

What is not to be marked is sealed, so that a slip of the editor shows.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, field_validator

from evals.coverage.row import GoldFact
from evals.coverage.schema import GoldItem, Importance
from evals.records import Message, Window

FactVerdict = Literal["right", "wrong", "fix"]

INSTRUCTIONS = """\
# Gold audit. Read each window's messages, then mark every fact that the judge took from them.
#
# verdict:  right   the messages say so, it stands by itself, and its importance fits
#           wrong   not said, not about that peer, or not worth storing: it leaves the gold
#           fix     right once corrected: fill in at least one of the three corrected_ keys
#           (blank) not marked yet
#
# corrected_fact                names its subject; time as a date, or openly hedged
# corrected_importance          CRITICAL, IMPORTANT, MINOR or TRIVIAL
# corrected_requires_inference  true or false: must a reader reason to get it from the messages?
# note                          why, in a few words; free
#
# missing, once a window, below its facts: write [] if nothing is missing, else a list of
#   - peer_id: …
#     fact: …
#     category: …
#     importance: …
#     requires_inference: …
#     source_span: words of one message, copied exactly
#     licensed_inference: something worth knowing that follows from the fact
#   Left blank, the window counts as unfinished, and its gold is not used.
#
# Put text that holds : or # in double quotes. Change nothing else.
# Read it back with: python -m calibration audit-gold read FILE
"""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SheetMessage(_Part):
    """One message of a window."""

    id: str
    at: str | None
    """ISO 8601; None where it has no time."""
    peer: str
    text: str

    @field_validator("at")
    @classmethod
    def _is_time(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value)
        return value


class SheetFact(_Part):
    """One gold fact with its marks."""

    gold_id: str
    fact: str
    importance: Importance
    requires_inference: bool
    category: str
    peer_id: str
    source_span: str
    message_id: str
    message: str
    """The text of the message that holds the span."""
    licensed_inference: str
    seal: str
    verdict: FactVerdict | None
    corrected_fact: str | None
    corrected_importance: Importance | None
    corrected_requires_inference: bool | None
    note: str | None

    @property
    def corrections(self) -> dict[str, Any]:
        """Field of ``GoldItem`` -> what the person put in its place."""
        given = {
            "fact": self.corrected_fact,
            "importance": self.corrected_importance,
            "requires_inference": self.corrected_requires_inference,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def item(self) -> GoldItem:
        """The fact as the judge gave it."""
        return GoldItem(
            peer_id=self.peer_id,
            fact=self.fact,
            category=self.category,
            importance=self.importance,
            requires_inference=self.requires_inference,
            source_span=self.source_span,
            licensed_inference=self.licensed_inference,
        )


class SheetWindow(_Part):
    """One window with its gold."""

    window_id: str
    window_text_hash: str
    peers: tuple[str, ...]
    """Whom the gold is about."""
    seal: str
    messages: tuple[SheetMessage, ...]
    facts: tuple[SheetFact, ...]
    missing: tuple[GoldItem, ...] | None
    """Facts that the judge left out; None: nobody has looked."""

    @property
    def as_messages(self) -> tuple[Message, ...]:
        """The messages as a window holds them."""
        return tuple(
            Message(
                message_id=item.id,
                peer_id=item.peer,
                text=item.text,
                sent_at=None if item.at is None else datetime.fromisoformat(item.at),
            )
            for item in self.messages
        )


class Sheet(_Part):
    """A whole audit."""

    format: Literal["gold-audit"]
    version: Literal[1]
    run_id: str
    judge_model: str
    """Who extracted the gold, as the run asked for it."""
    seal: str
    windows: tuple[SheetWindow, ...]


def sheet_window(window: Window, peers: Sequence[str], gold: Sequence[GoldFact]) -> SheetWindow:
    """Return a window's part of a new sheet, with nothing marked.

    Raises:
        KeyError: a fact is from a message that the window does not have.
    """
    texts = {message.message_id: message.text for message in window.messages}
    facts = [
        SheetFact(
            gold_id=fact.gold_id,
            fact=fact.fact,
            importance=fact.importance,
            requires_inference=fact.requires_inference,
            category=fact.category,
            peer_id=fact.peer_id,
            source_span=fact.source_span,
            message_id=fact.message_id,
            message=texts[fact.message_id],
            licensed_inference=fact.licensed_inference,
            seal="",
            verdict=None,
            corrected_fact=None,
            corrected_importance=None,
            corrected_requires_inference=None,
            note=None,
        )
        for fact in gold
    ]
    sealed = [
        fact.model_copy(update={"seal": fact_seal(window.window_text_hash, fact)}) for fact in facts
    ]
    messages = [
        SheetMessage(
            id=message.message_id,
            at=None if message.sent_at is None else message.sent_at.isoformat(),
            peer=message.peer_id,
            text=message.text,
        )
        for message in window.messages
    ]
    unsealed = SheetWindow(
        window_id=window.window_id,
        window_text_hash=window.window_text_hash,
        peers=tuple(peers),
        seal="",
        messages=tuple(messages),
        facts=tuple(sealed),
        missing=None,
    )
    return unsealed.model_copy(update={"seal": window_seal(unsealed)})


def new_sheet(run_id: str, judge_model: str, windows: Sequence[SheetWindow]) -> Sheet:
    """Return a sealed sheet."""
    unsealed = Sheet(
        format="gold-audit",
        version=1,
        run_id=run_id,
        judge_model=judge_model,
        seal="",
        windows=tuple(windows),
    )
    return unsealed.model_copy(update={"seal": sheet_seal(unsealed)})


def sheet_text(sheet: Sheet) -> str:
    """Return the sheet as its file holds it, instructions on top."""
    content = sheet.model_dump(mode="json")
    dumped = yaml.dump(
        content, Dumper=_SheetDumper, allow_unicode=True, sort_keys=False, width=1_000_000
    )
    return f"{INSTRUCTIONS}\n{dumped}"


def fact_seal(window_text_hash: str, fact: SheetFact) -> str:
    """Return the seal of a fact as it stands: 16 hex digits over all that is not to be marked."""
    item = fact.item.model_dump(mode="json")
    return _seal([window_text_hash, fact.gold_id, fact.message_id, item])


def window_seal(window: SheetWindow) -> str:
    """Return the seal of a window as it stands: over its facts' seals, in order, and its peers."""
    seals = [fact.seal for fact in window.facts]
    return _seal([window.window_id, window.window_text_hash, window.peers, seals])


def sheet_seal(sheet: Sheet) -> str:
    """Return the seal of a sheet as it stands: over its windows' seals, in order, and its run."""
    return _seal([sheet.run_id, sheet.judge_model, [window.seal for window in sheet.windows]])


def _seal(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class _SheetDumper(yaml.SafeDumper):
    """YAML that is easy to mark: text of several lines as a block, nothing as a blank."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML's signature
        """Write every value out: the reader refuses aliases."""
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        # Read back, a bare line break of another kind than \n becomes one.
        odd = not _ODD_BREAKS.isdisjoint(data)
        style = '"' if odd or data != data.strip() else "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def blank(self, _data: None) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:null", "")


_ODD_BREAKS = frozenset("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff")
_SheetDumper.add_representer(str, _SheetDumper.text)
_SheetDumper.add_representer(type(None), _SheetDumper.blank)

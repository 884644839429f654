"""Gold that a person has checked (3.7): one file a window text, used in place of the judge's."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from evals.coverage.schema import GoldItem
from evals.errors import CalibrationError
from evals.records import Record
from evals.untrusted import for_terminal

_HASH = re.compile(r"[0-9a-f]{64}")
_TODO = "Restore it from git, or read its sheet again: python -m calibration audit-gold read FILE."


class AuditedGold(Record):
    """Content of ``<window_text_hash>.json``."""

    format: Literal["audited-gold"]
    version: Literal[1]
    window_text_hash: str
    peers: tuple[str, ...]
    """Whom the audit was about, sorted; of anybody else it says nothing."""
    facts: tuple[GoldItem, ...]
    """Every gold fact about those peers; none: a person found nothing worth storing."""


def audited_gold(
    window_text_hash: str, folder: Path, peers: Sequence[str]
) -> tuple[GoldItem, ...] | None:
    """Return the gold that a person has settled for a window; None where nobody has.

    Args:
        window_text_hash: of the window's messages.
        folder: where audited gold lies; need not exist.
        peers: whom gold is wanted about. Two derivers can see one window for two peers, so what was
            audited for others only is None.

    Returns:
        The facts about ``peers``, in the order of the audit; can be empty.

    Raises:
        CalibrationError: the file cannot be read, or is that of another window.
    """
    audited = read_audited(window_text_hash, folder)
    if audited is None or not set(peers) <= set(audited.peers):
        return None
    return tuple(fact for fact in audited.facts if fact.peer_id in peers)


def audited_path(window_text_hash: str, folder: Path) -> Path:
    """Return where the audited gold of a window lies.

    Raises:
        CalibrationError: the hash is not 64 hex digits, so it could name another file.
    """
    if not _HASH.fullmatch(window_text_hash):
        raise CalibrationError(
            "window_text_hash",
            for_terminal(repr(window_text_hash), 80),
            "64 hex digits",
            "Judge the trace again: its windows' hashes are not as this project writes them.",
        )
    return folder / f"{window_text_hash}.json"


def read_audited(window_text_hash: str, folder: Path) -> AuditedGold | None:
    """Return the whole file of a window; None where there is none. Raises as ``audited_gold``."""
    path = audited_path(window_text_hash, folder)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CalibrationError(str(path), str(error), "a readable file", _TODO) from error
    try:
        audited = AuditedGold.model_validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        found = for_terminal(f"{key}: {first['msg']}", 300)
        raise CalibrationError(str(path), found, "audited gold", _TODO) from error
    if audited.window_text_hash != window_text_hash:
        found = f"the gold of window text {for_terminal(audited.window_text_hash, 80)}"
        raise CalibrationError(str(path), found, "that of the hash in its name", _TODO)
    strangers = {fact.peer_id for fact in audited.facts} - set(audited.peers)
    if strangers:
        found = f"facts about {for_terminal(', '.join(sorted(strangers)), 80)}"
        raise CalibrationError(str(path), found, "facts about its peers alone", _TODO)
    return audited

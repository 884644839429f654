"""Gold that a person has checked is used as it is written, or refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.coverage.audited import AuditedGold, audited_gold, audited_path
from evals.coverage.schema import GoldItem
from evals.errors import CalibrationError

HASH = "a1" * 32


def item(peer_id: str, fact: str) -> GoldItem:
    return GoldItem(
        peer_id=peer_id,
        fact=fact,
        category="WORK",
        importance="CRITICAL",
        requires_inference=False,
        source_span="at the bakery",
        licensed_inference="has a job",
    )


VINCE, MAY = item("vince", "vince bakes"), item("may", "may rows")


def write(folder: Path, **changed: Any) -> Path:
    fields: dict[str, Any] = {
        "format": "audited-gold",
        "version": 1,
        "window_text_hash": HASH,
        "peers": ("may", "vince"),
        "facts": (VINCE, MAY),
    }
    path = folder / f"{HASH}.json"
    gold = AuditedGold.model_construct(**(fields | changed))
    path.write_text(gold.model_dump_json(warnings=False), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("peers", "facts"),
    [
        (("may", "vince"), (VINCE, MAY)),
        (("may",), (MAY,)),
        (("vince", "odile"), None),
    ],
)
def test_gold_is_given_for_peers_that_were_all_audited(
    tmp_path: Path, peers: Sequence[str], facts: tuple[GoldItem, ...] | None
) -> None:
    write(tmp_path)
    assert audited_gold(HASH, tmp_path, peers) == facts


def test_an_audit_that_left_nothing_is_gold_too(tmp_path: Path) -> None:
    write(tmp_path, facts=())
    assert audited_gold(HASH, tmp_path, ["vince"]) == ()


def test_without_a_file_or_a_folder_there_is_none(tmp_path: Path) -> None:
    assert audited_gold(HASH, tmp_path, ["may"]) is None
    assert audited_gold(HASH, tmp_path / "nowhere", ["may"]) is None


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"window_text_hash": "b2" * 32}, "b2b2"),
        ({"version": 2}, "version"),
        ({"facts": None}, "facts"),
        ({"facts": (VINCE.model_copy(update={"importance": "HUGE"}),)}, "facts.0.importance"),
        ({"peers": ("vince",)}, "facts about may"),
    ],
)
def test_a_file_that_does_not_hold_what_its_name_says_is_refused(
    tmp_path: Path, changed: dict[str, Any], found: str
) -> None:
    path = write(tmp_path, **changed)
    with pytest.raises(CalibrationError, match=found) as caught:
        audited_gold(HASH, tmp_path, ["may"])
    assert caught.value.where == str(path)


def test_what_is_no_json_or_no_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path).write_text("{", encoding="utf-8")
    with pytest.raises(CalibrationError, match="the whole"):
        audited_gold(HASH, tmp_path, ["may"])
    (tmp_path / "folder" / f"{HASH}.json").mkdir(parents=True)
    with pytest.raises(CalibrationError, match="a readable file"):
        audited_gold(HASH, tmp_path / "folder", ["may"])


@pytest.mark.parametrize("text_hash", ["", "../" + HASH, HASH.upper(), HASH[:-1], HASH + "\n"])
def test_a_hash_that_is_none_names_no_file(tmp_path: Path, text_hash: str) -> None:
    with pytest.raises(CalibrationError, match="64 hex digits"):
        audited_path(text_hash, tmp_path)

"""What a gold audit takes from a run, and what comes of its marks."""

from pathlib import Path
from typing import Any

import pytest

from calibration.audit import (
    AuditOutcome,
    LabelledExample,
    choose_windows,
    merged_gold,
    outcome_of,
    sheet_of,
)
from calibration.audit_read import read_sheet
from evals.coverage.audited import AuditedGold, audited_gold
from evals.coverage.schema import GoldItem
from evals.errors import CalibrationError
from tests.calibration.audit_windows import (
    NOON,
    content_of,
    mark,
    missing_fact,
    row_of,
    sheet_for,
    window,
    write,
)
from tests.coverage.rows import gold_fact


def outcome(tmp_path: Path, content: Any) -> AuditOutcome:
    return outcome_of(read_sheet(write(tmp_path / "s.yaml", content)))


def marked(*verdicts: str | None, missing: Any = ()) -> Any:
    return mark(content_of(sheet_for([window()])), *verdicts, missing=missing)


MANY = [window(f"w{n}", [f"at the bakery {n}", "Odile"]) for n in range(8)]


def test_windows_are_chosen_by_their_text_whatever_the_order_of_rows() -> None:
    by_id = {one.window_id: one for one in MANY}
    rows = [row_of(one) for one in MANY]
    three = [item.window_id for item in choose_windows(rows, by_id, 3)]
    assert len(set(three)) == 3
    assert [item.window_id for item in choose_windows(rows[::-1], by_id, 3)] == three
    eight = [item.window_id for item in choose_windows(rows, by_id, 99)]
    assert (eight[:3], sorted(eight)) == (three, sorted(by_id))
    assert eight != sorted(eight)


def test_only_gold_of_the_judge_is_audited_and_each_text_once_a_peer() -> None:
    windows = [*MANY[:4], window("again", ["at the bakery 0", "Odile"])]
    other_peer = window("other", ["at the bakery 0", "Odile"], peer_id="may")
    rows = [
        row_of(windows[0]),
        row_of(windows[1], gold_source="audited"),
        row_of(windows[2], 0),
        row_of(windows[3]).model_copy(update={"gold": None, "gold_source": None}),
        row_of(windows[4]),
        row_of(other_peer),
    ]
    by_id = {one.window_id: one for one in (*windows, other_peer)}
    assert [item.window_id for item in choose_windows(rows, by_id, 9)] == ["again", "other"]
    with pytest.raises(CalibrationError, match="run run-1: found 1 windows"):
        sheet_of("run-1", "judge-1", rows[1:2], by_id, 5)


def test_gold_from_a_message_that_is_not_there_is_an_error() -> None:
    row = row_of(window()).model_copy(update={"gold": (gold_fact(message_id="m9"),)})
    with pytest.raises(CalibrationError, match="gold from message 'm9'"):
        choose_windows([row], {"w1": window()}, 5)


@pytest.mark.parametrize(
    ("verdicts", "hits", "n", "unmarked"),
    [
        (("right", "right", "right"), 3, 3, 0),
        (("right", "fix", "wrong"), 1, 3, 0),
        (("right", "wrong", None), 1, 2, 1),
        ((None, None, None), 0, 0, 3),
    ],
)
def test_precision_is_what_is_right_as_it_stands_of_what_is_marked(
    tmp_path: Path, verdicts: tuple[str | None, ...], hits: int, n: int, unmarked: int
) -> None:
    content = marked(*verdicts)
    for fact in content["windows"][0]["facts"]:
        if fact["verdict"] == "fix":
            fact["corrected_importance"] = "TRIVIAL"
    found = outcome(tmp_path, content)
    rate = found.precision
    assert (rate.hits, rate.n, rate.unjudged) == (hits, n, unmarked)
    assert rate.value == (hits / n if n else None)
    assert (found.right, found.fix, found.wrong) == tuple(
        verdicts.count(mark) for mark in ("right", "fix", "wrong")
    )
    if hits == n == 3:
        assert rate.low == pytest.approx(0.4385, abs=1e-4)  # Wilson, 3 of 3


def full(tmp_path: Path) -> AuditOutcome:
    content = marked("right", "fix", "wrong", missing=[missing_fact()])
    content["windows"][0]["facts"][1] |= {
        "corrected_fact": "Odile lent vince 300 euros by 2026-06-04",
        "corrected_importance": "IMPORTANT",
        "note": "says what",
    }
    return outcome(tmp_path, content)


def test_gold_keeps_what_is_right_corrects_drops_and_adds(tmp_path: Path) -> None:
    (gold,) = full(tmp_path).gold
    assert (gold.window_text_hash, gold.peers) == (window().window_text_hash, ("vince",))
    assert [(fact.fact, fact.importance) for fact in gold.facts] == [
        ("vince starts at the bakery on 2026-06-08", "CRITICAL"),
        ("Odile lent vince 300 euros by 2026-06-04", "IMPORTANT"),
        ("vince has a sister, Odile", "IMPORTANT"),
    ]
    assert gold.facts[1].source_span == "my sister Odile"
    assert not gold.facts[1].requires_inference


def test_examples_are_what_a_person_passed_or_failed(tmp_path: Path) -> None:
    found = full(tmp_path)
    assert [
        (one.id.rsplit("-", 1)[-1], one.verdict, one.origin, one.marked) for one in found.examples
    ] == [
        ("g1", "pass", "judge", "right"),
        ("g2", "fail", "judge", "fix"),
        ("corrected", "pass", "correction", "fix"),
        ("g3", "fail", "judge", "wrong"),
        ("1", "pass", "missing", None),
    ]
    second = found.examples[1]
    assert (second.conclusion, second.why) == ("fact g2 of vince", "says what")
    assert found.examples[2].conclusion == "Odile lent vince 300 euros by 2026-06-04"
    assert [item.text for item in second.window] == [item.text for item in window().messages]
    assert [item.at for item in second.window] == [NOON, None, NOON]
    assert (second.run_id, second.judge_model, second.window_id) == ("run-1", "judge-1", "w1")
    assert len({one.id for one in found.examples}) == 5
    assert LabelledExample.model_validate_json(second.model_dump_json()) == second


def test_a_fact_of_another_importance_may_stand_as_it_is_worded(tmp_path: Path) -> None:
    content = marked("right", "fix", None)
    content["windows"][0]["facts"][1]["corrected_importance"] = "TRIVIAL"
    assert [one.verdict for one in outcome(tmp_path, content).examples] == ["pass", "pass"]


@pytest.mark.parametrize(
    ("verdicts", "missing", "todo"),
    [
        (("right", None, None), (), "mark g2, g3"),
        (("right", "right", "wrong"), None, "say what is missing ([] if nothing)"),
        ((None, "right", "right"), None, "mark g1; say what is missing ([] if nothing)"),
    ],
)
def test_an_unfinished_window_gives_no_gold_and_says_why(
    tmp_path: Path, verdicts: tuple[str | None, ...], missing: Any, todo: str
) -> None:
    found = outcome(tmp_path, marked(*verdicts, missing=missing))
    assert (found.gold, found.unfinished) == ((), {"w1": todo})


def test_a_window_of_which_nothing_is_gold_is_finished_all_the_same(tmp_path: Path) -> None:
    found = outcome(tmp_path, marked("wrong", "wrong", "wrong"))
    assert [gold.facts for gold in found.gold] == [()]
    assert found.unfinished == {}


def item(peer_id: str, fact: str = "a fact") -> GoldItem:
    return GoldItem.model_validate(missing_fact(peer_id=peer_id, fact=fact))


def gold_about(peers: tuple[str, ...], *facts: GoldItem) -> AuditedGold:
    return AuditedGold(
        format="audited-gold",
        version=1,
        window_text_hash=window().window_text_hash,
        peers=peers,
        facts=facts,
    )


def save(folder: Path, gold: AuditedGold, *, replace: bool = False) -> AuditedGold:
    path, merged = merged_gold(gold, folder, replace=replace)
    path.write_text(merged.model_dump_json(), encoding="utf-8")
    return merged


def test_the_same_audit_read_again_changes_nothing(tmp_path: Path) -> None:
    first = save(tmp_path, gold_about(("vince",), item("vince")))
    assert save(tmp_path, gold_about(("vince",), item("vince"))) == first
    assert audited_gold(first.window_text_hash, tmp_path, ["vince"]) == first.facts


def test_what_an_earlier_audit_settled_is_only_replaced_on_demand(tmp_path: Path) -> None:
    save(tmp_path, gold_about(("vince",), item("vince", "old")))
    with pytest.raises(CalibrationError, match="other gold about vince") as caught:
        save(tmp_path, gold_about(("vince",), item("vince", "new")))
    assert "--replace" in caught.value.todo
    with pytest.raises(CalibrationError, match="other gold about vince"):
        save(tmp_path, gold_about(("vince",)))
    replaced = save(tmp_path, gold_about(("vince",), item("vince", "new")), replace=True)
    assert replaced.facts == (item("vince", "new"),)


def test_gold_about_other_peers_of_the_same_text_stays(tmp_path: Path) -> None:
    save(tmp_path, gold_about(("may",), item("may")))
    merged = save(tmp_path, gold_about(("vince",), item("vince")))
    assert (merged.peers, merged.facts) == (("may", "vince"), (item("may"), item("vince")))
    with pytest.raises(CalibrationError, match="other gold about may"):
        save(tmp_path, gold_about(("may", "odile"), item("odile")))
    replaced = save(tmp_path, gold_about(("may", "odile"), item("odile")), replace=True)
    assert (replaced.peers, replaced.facts) == (
        ("may", "odile", "vince"),
        (item("vince"), item("odile")),
    )

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from calibration.gallery import SHIPPED_GALLERY, gallery_cases, gallery_hash, load_gallery
from evals.records import conclusion_id_of, window_text_hash_of
from tests.calibration.one_specimen import ONE

SHARED = Path(__file__).parents[2].parent / "shared"


def test_the_shipped_gallery_holds_what_the_specification_names() -> None:
    gallery = load_gallery(SHIPPED_GALLERY)
    by_text = {specimen.conclusion: specimen for specimen in gallery.specimens}
    assert len(gallery.specimens) >= 23
    assert Counter(item.verdict for item in gallery.specimens).keys() == {"pass", "fail"}
    yes = by_text["courtland responded with 'yes'"].pass_1
    assert (yes.decontextuality_max, yes.unknown_slots_include) == (0.4, ("OBJECT_OR_CONTENT",))
    boss = by_text["Bob, Alice's boss at ACME, is retiring in November 2026"]
    assert (boss.verdict, boss.pass_1.decontextuality_min) == ("pass", 0.8)
    dwight = by_text["michael said that he could murder Dwight"]
    assert (dwight.verdict, dwight.pass_2.force_preserved) == ("pass", True)


def test_no_specimen_of_the_handed_down_gallery_is_left_out_or_weakened() -> None:
    source = SHARED / "gallery" / "specimens.yaml"
    if not source.exists():
        pytest.skip("the handed-down gallery is not beside this checkout")
    ours = {specimen.id: specimen for specimen in load_gallery(SHIPPED_GALLERY).specimens}
    for specimen in load_gallery(source).specimens:
        assert ours[specimen.id] == specimen


def test_a_specimen_becomes_a_window_with_one_conclusion(gallery_file: Path) -> None:
    window = load_gallery(gallery_file).specimens[0].as_window
    assert [(m.message_id, m.peer_id, m.text) for m in window.messages] == [
        ("m1", "priya", "I'm allergic to penicillin, I get hives."),
        ("m2", "carol", "noted"),
    ]
    at = datetime(2026, 1, 20, 11, tzinfo=UTC)
    assert [message.sent_at for message in window.messages] == [at, None]
    assert window.window_text_hash == window_text_hash_of(window.messages)
    assert (window.peer_id, window.earlier_messages) == ("priya", None)
    (conclusion,) = window.conclusions
    assert conclusion.text == "priya is allergic to penicillin"
    assert conclusion.conclusion_id == conclusion_id_of(window.window_id, 0, conclusion.text)
    assert (conclusion.deriver_model_id, conclusion.derived_at) == (None, None)


def test_what_was_said_earlier_is_of_the_window_but_not_in_it(searched_file: Path) -> None:
    booked, opening = (item.as_window for item in load_gallery(searched_file).specimens)
    assert booked.earlier_messages is not None
    assert [(m.message_id, m.peer_id, m.text) for m in booked.earlier_messages] == [
        ("e1", "sam", "Please book the blue room, nothing else."),
        ("e2", "priya", "Tomorrow."),
    ]
    at = datetime(2026, 1, 19, 11, tzinfo=UTC)
    assert [message.sent_at for message in booked.earlier_messages] == [at, None]
    assert [message.message_id for message in booked.messages] == ["m1"]
    assert booked.window_text_hash == window_text_hash_of(booked.messages)
    assert opening.earlier_messages == ()  # known to be none, which is not: not known


def test_the_shipped_gallery_searches_for_each_attribution() -> None:
    specimens = load_gallery(SHIPPED_GALLERY).specimens
    wanted = {item.attribution for spec in specimens for item in spec.attribution or ()}
    assert wanted == {"PRESENT_IN_WINDOW", "ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE"}


def test_a_time_may_be_quoted_or_not(gallery_file: Path) -> None:
    window = load_gallery(gallery_file).specimens[1].as_window
    assert window.messages[0].sent_at == datetime(2026, 4, 8, 15, tzinfo=UTC)


def test_what_is_not_expected_is_not_asserted(gallery_file: Path) -> None:
    specimen = load_gallery(gallery_file).specimens[1]
    assert not specimen.pass_1.model_dump(exclude_none=True)
    assert not specimen.pass_2.model_dump(exclude_none=True)


def test_both_tests_get_every_specimen_in_the_order_of_the_file(gallery_file: Path) -> None:
    cases = gallery_cases(gallery_file)
    assert {name: [case.case_id for case in found] for name, found in cases.items()} == {
        "test_pass_1": ["allergy", "bare-yes"],
        "test_both_passes": ["allergy", "bare-yes"],
    }
    assert {case.mode for case in cases["test_pass_1"]} == {"pass_1"}
    assert {case.mode for case in cases["test_both_passes"]} == {"both_passes"}


@pytest.mark.parametrize("specimen_id", ["süß und sauer", "x" * 60, "../etc", "a\u202eb"])
def test_an_id_of_any_text_gives_a_plain_and_unique_case_id(
    tmp_path: Path, specimen_id: str
) -> None:
    path = tmp_path / "gallery.yaml"
    path.write_text(ONE.replace("id: one", f"id: '{specimen_id}'"), encoding="utf-8")
    (case,) = gallery_cases(path)["test_pass_1"]
    assert case.case_id.isascii()
    assert set(case.case_id) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
    )
    assert len(case.case_id) <= 49


def test_comments_and_reasons_do_not_change_the_hash(gallery_file: Path) -> None:
    before = gallery_hash(gallery_file)
    text = gallery_file.read_text(encoding="utf-8")
    gallery_file.write_text(f"# a note\n{text.replace('A stable trait.', 'Another reason.')}")
    assert gallery_hash(gallery_file) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("decontextuality_min: 0.8", "decontextuality_min: 0.7"),
        ("unknown_slots: [], ", ""),
        ("sam said yes", "sam said no"),
        ("I get hives", "I get spots"),
        ("verdict: fail", "verdict: pass"),
        ("11:00:00Z", "11:00:01Z"),
    ],
)
def test_all_that_is_judged_or_asserted_changes_the_hash(
    gallery_file: Path, old: str, new: str
) -> None:
    before = gallery_hash(gallery_file)
    text = gallery_file.read_text(encoding="utf-8")
    assert old in text
    gallery_file.write_text(text.replace(old, new), encoding="utf-8")
    assert gallery_hash(gallery_file) != before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("blue room", "red room"),
        ('"2026-01-19T11:00:00Z"', "null"),
        ("peer: sam", "peer: tom"),
        ("  earlier: []\n", '  earlier: [{at: null, peer: sam, text: "Hi"}]\n'),
        ("attribution: ABSENT_FROM_WINDOW", "attribution: ABSENT_EVERYWHERE"),
        ("[{slot: OBJECT_OR_CONTENT", "[{slot: REFERENT"),
    ],
)
def test_earlier_messages_and_attribution_change_the_hash(
    searched_file: Path, old: str, new: str
) -> None:
    before = gallery_hash(searched_file)
    text = searched_file.read_text(encoding="utf-8")
    assert old in text
    searched_file.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert gallery_hash(searched_file) != before


def test_earlier_that_is_empty_is_hashed_apart_from_earlier_that_is_not_known(
    tmp_path: Path,
) -> None:
    hashes = set()
    for name, text in {"known": ONE + "  earlier: []\n", "not-known": ONE}.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        hashes.add(gallery_hash(path))
    assert len(hashes) == 2

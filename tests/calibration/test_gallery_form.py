"""What a gallery's file may and may not hold, and what is said of one that cannot be read."""

from pathlib import Path

import pytest

from calibration.gallery import load_gallery
from evals.errors import CalibrationError
from tests.calibration.one_specimen import ONE


def refusal(tmp_path: Path, text: str | bytes) -> CalibrationError:
    path = tmp_path / "gallery.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CalibrationError) as caught:
        load_gallery(path)
    assert caught.value.where.startswith(str(path))
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "key", "found", "wanted"),
    [
        ("verdict: pass", "", "verdict", "nothing", "this key"),
        ("  window:", "  windows:", "window", "nothing", "this key"),
        ("verdict: pass", "verdict: pass\n  verdit: fail", "verdit", "'fail'", "no key of this"),
        ("verdict: pass", "verdict: yes", "verdict", "True", "'pass' or 'fail'"),
        ("verdict: pass", "verdict:", "the whole", "{'id': 'one'", "no value after verdict"),
        ("id: one", "id: 7", "id", "7", "valid string"),
        ("id: one", "id: ' '", "id", "' '", "blank text"),
        ('"priya hikes"', '"\\ud800"', "conclusion", "ud800", "half a character"),
        ('[{at: "2026-01-20T11:00:00Z", peer: priya, text: "I hike"}]', "[]", "window", "()", "1"),
        ("peer: priya, ", "", "window.0.peer", "nothing", "this key"),
        ("peer: priya", "peer: no", "window.0.peer", "False", "valid string"),
        ('"2026-01-20T11:00:00Z"', '"yesterday"', "window.0.at", "'yesterday'", "a date and a"),
        ('"2026-01-20T11:00:00Z"', '"2026-01-20"', "window.0.at", "'2026-01-20'", "a date and a"),
        ('"2026-01-20T11:00:00Z"', "2026-01-20", "window.0.at", "datetime.date", "valid datetime"),
        ('"2026-01-20T11:00:00Z"', "5", "window.0.at", "5", "valid datetime"),
        ('"2026-01-20T11:00:00Z"', '"2026-13-20T11:00"', "window.0.at", "'2026-13", "month"),
    ],
)
def test_an_error_names_specimen_key_what_was_found_and_what_was_wanted(
    tmp_path: Path, old: str, new: str, key: str, found: str, wanted: str
) -> None:
    assert old in ONE
    error = refusal(tmp_path, ONE.replace(old, new, 1))
    assert error.where.endswith(f", key {key}")
    assert found in error.found
    assert wanted in error.wanted
    assert "specimens.yaml shows the form" in error.todo


@pytest.mark.parametrize(
    ("expected", "key", "wanted"),
    [
        ("pass_1: {decontextuality_min: 1.5}", "pass_1.decontextuality_min", "less than or equal"),
        ("pass_1: {decontextuality_max: -0.1}", "pass_1.decontextuality_max", "greater than"),
        ("pass_1: {decontextuality_max: .nan}", "pass_1.decontextuality_max", "equal to"),
        ("pass_1: {decontextuality_max: '0.4'}", "pass_1.decontextuality_max", "valid number"),
        ("pass_1: {decontextuality_mim: 0.4}", "pass_1.decontextuality_mim", "no key of this"),
        (
            "pass_1: {decontextuality_min: 0.8, decontextuality_max: 0.4}",
            "pass_1",
            "decontextuality_min 0.8 is over decontextuality_max 0.4",
        ),
        ("pass_1: {unknown_slots: [TIME]}", "pass_1.unknown_slots", "at most 0"),
        ("pass_1: {unknown_slots: }", "pass_1", "no value after unknown_slots"),
        ("pass_1: {unknown_slots_include: []}", "pass_1.unknown_slots_include", "at least 1"),
        ("pass_1: {unknown_slots_include: TIME}", "pass_1.unknown_slots_include", "valid tuple"),
        (
            "pass_1: {unknown_slots: [], unknown_slots_include: [TIME]}",
            "pass_1",
            "contradict each other",
        ),
        ("pass_1: {licensed_inference: none}", "pass_1.licensed_inference", "'present' or 'NONE'"),
        ("pass_1: []", "pass_1", "dictionary"),
        ("pass_1:", "the whole", "no value after pass_1"),
        ("pass_2: {interpretation: match}", "pass_2.interpretation", "'MATCH' or 'MISMATCH'"),
        ("pass_2: {force_preserved: 1}", "pass_2.force_preserved", "valid boolean"),
        ("pass_2: {time_status_in: []}", "pass_2.time_status_in", "at least 1"),
        ("pass_2: {time_status_in: [ANCHORED]}", "pass_2.time_status_in.0", "'ANCHORED_CORRECTLY'"),
        ("pass_2: {unsupported_elements: [x]}", "pass_2.unsupported_elements", "at most 0"),
        ("pass_2: {unsupported: absent}", "pass_2.unsupported", "'present'"),
        ("pass_2: {unsupported_kinds_include: []}", "pass_2.unsupported_kinds_include", "at least"),
        (
            "pass_2: {unsupported_elements: [], unsupported: present}",
            "pass_2",
            "contradict each other",
        ),
        (
            "pass_2: {missing_include: [{slot: TIME}]}",
            "pass_2.missing_include.0.attribution",
            "this",
        ),
        (
            "pass_2: {missing_include: [{slot: TIME, attribution: ABSENT}]}",
            "pass_2.missing_include.0.attribution",
            "'PRESENT_IN_WINDOW'",
        ),
    ],
)
def test_an_expectation_that_cannot_be_read_or_met_is_refused(
    tmp_path: Path, expected: str, key: str, wanted: str
) -> None:
    error = refusal(tmp_path, f"{ONE}  {expected}\n")
    assert error.where.endswith(f"specimen one, key {key}")
    assert wanted in error.wanted


PLACE = "attribution: [{slot: PLACE, attribution: ABSENT_FROM_WINDOW}]"


@pytest.mark.parametrize(
    ("given", "key", "wanted"),
    [
        ("earlier:", "the whole", "no value after earlier"),
        ("earlier: hello", "earlier", "valid tuple"),
        ("earlier: [hello]", "earlier.0", "dictionary"),
        ("earlier: [{at: null, peer: sam}]", "earlier.0.text", "this key"),
        ("earlier: [{at: null, peer: sam, text: ' '}]", "earlier.0.text", "blank text"),
        ("earlier: [{at: monday, peer: sam, text: hi}]", "earlier.0.at", "a date and a time"),
        ("earlier: [{id: e1, at: null, peer: s, text: hi}]", "earlier.0.id", "no key of this"),
        ("earlier: []\n  attribution:", "the whole", "no value after attribution"),
        ("earlier: []\n  attribution: []", "attribution", "at least 1"),
        ("earlier: []\n  attribution: [PLACE]", "attribution.0", "dictionary"),
        ("earlier: []\n  attribution: [{slot: PLACE}]", "attribution.0.attribution", "this key"),
        (
            "earlier: []\n  attribution: [{slot: PLACE, attribution: ABSENT}]",
            "attribution.0.attribution",
            "'PRESENT_IN_WINDOW'",
        ),
        (PLACE, "attribution", "only beside `earlier`"),
        (f"earlier: []\n  {PLACE}", "attribution", "contradict each other"),
    ],
)
def test_an_attribution_that_cannot_be_read_or_met_is_refused(
    tmp_path: Path, given: str, key: str, wanted: str
) -> None:
    text = ONE.replace("verdict: pass", "verdict: fail")
    error = refusal(tmp_path, f"{text}  {given}\n")
    assert error.where.endswith(f"specimen one, key {key}")
    assert wanted in error.wanted


@pytest.mark.parametrize("earlier", ["", "  earlier: [{at: null, peer: sam, text: hi}]\n"])
def test_a_pass_has_no_attribution(tmp_path: Path, earlier: str) -> None:
    error = refusal(tmp_path, f"{ONE}{earlier}  {PLACE}\n")
    assert error.where.endswith("specimen one, key attribution")
    assert "only beside `verdict: fail`" in error.wanted


def test_earlier_may_stand_without_attribution_and_beside_a_pass(tmp_path: Path) -> None:
    path = tmp_path / "gallery.yaml"
    path.write_text(f"{ONE}  earlier: []\n", encoding="utf-8")
    (specimen,) = load_gallery(path).specimens
    assert (specimen.verdict, specimen.earlier, specimen.attribution) == ("pass", (), None)


@pytest.mark.parametrize(
    ("spoil", "also"),
    [("earlier: hello", "earlier"), ("verdict: maybe", "verdict")],
)
def test_attribution_beside_a_key_that_cannot_be_read_blames_that_key(
    tmp_path: Path, spoil: str, also: str
) -> None:
    text = ONE.replace("verdict: pass", "verdict: fail") + f"  earlier: []\n  {PLACE}\n"
    text = text.replace("ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE")
    old = f"{also}: []" if also == "earlier" else f"{also}: fail"
    error = refusal(tmp_path, text.replace(old, spoil))
    assert error.where.endswith(f"specimen one, key {also}")
    assert "Wrong there too" not in error.todo


def test_all_keys_that_are_wrong_in_a_specimen_are_named(tmp_path: Path) -> None:
    error = refusal(tmp_path, ONE.replace("id: one", "id: 1").replace("verdict: pass", "x: 1"))
    assert error.where.endswith("specimen number 1, key id")
    assert error.todo.endswith("Wrong there too: verdict, x.")


def test_an_id_given_twice_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path, ONE + ONE.split("specimens:\n")[1])
    assert error.where.endswith("specimen one, key id")
    assert error.found == "the same id twice"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "nothing"),
        ("just words", "str 'just words'"),
        ("- id: one", "tuple"),
        ("specimens: []\nmore: 1", "the keys specimens, more"),
        ("gallery: []", "the keys gallery"),
        ("specimens:", "nothing"),
        ("specimens: []", "tuple ()"),
        ("specimens: {id: one}", "dict"),
        ("specimens: [one]", "str 'one'"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, found: str) -> None:
    assert refusal(tmp_path, text).found.startswith(found)


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nspecimens: [*b, *b]"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (BOMB, ":2", "an alias (*)"),
        ("specimens: &loop [*loop]", ":1", "an alias (*)"),
        ("[" * 100_000, ":1", "more than 20 levels"),
        ("specimens: " + "[" * 30 + "]" * 30, ":1", "more than 20 levels"),
        (ONE + "  verdict: fail\n", ":8", "the key 'verdict' twice"),
        ("specimens: []\nspecimens: []", ":2", "the key 'specimens' twice"),
        ("1: x", ":1", "the key 1, which is no text"),
        ("[a]: x", ":1", "the key ('a',)"),
        ("specimens: !!python/object/apply:os.getcwd []", ":1", "could not determine"),
        ("specimens: []\n---\nspecimens: []", ":2", "but found another document"),
        ("specimens: [", ":1", "expected"),
        ("\tspecimens: []", ":1", "found character"),
        ("specimens: 2026-02-31", "", "day"),
        ("specimens: \x00", "", "special characters"),
    ],
)
def test_hostile_or_broken_yaml_is_refused_with_its_line(
    tmp_path: Path, text: str, line: str, found: str
) -> None:
    error = refusal(tmp_path, text)
    assert error.where == f"{tmp_path / 'gallery.yaml'}{line}"
    assert found in error.found


def test_bytes_that_are_no_utf_8_are_refused_with_their_place(tmp_path: Path) -> None:
    assert refusal(tmp_path, b"specimens: \xff").found == "a byte that is not UTF-8 at 11"


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "gallery.yaml"
    path.write_text(ONE, encoding="utf-8-sig")
    assert load_gallery(path).specimens[0].id == "one"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="Name a gallery with --gallery"):
        load_gallery(tmp_path / "nowhere.yaml")


def test_an_error_shows_no_control_characters(tmp_path: Path) -> None:
    error = refusal(tmp_path, ONE.replace("id: one", 'id: "\\e[2J"').replace("verdict", '"\\ev"'))
    assert "\x1b" not in str(error)

"""The sheet of a gold audit: as a person gets it, and what of a marked one is taken back."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from calibration.audit_read import read_sheet
from calibration.audit_sheet import INSTRUCTIONS, sheet_text
from evals.errors import CalibrationError
from tests.calibration.audit_windows import (
    HOSTILE,
    content_of,
    mark,
    missing_fact,
    sheet_for,
    window,
    write,
)


@pytest.fixture
def content() -> Any:
    return content_of(sheet_for([window()]))


def test_a_new_sheet_reads_back_as_it_was_written(tmp_path: Path) -> None:
    sheet = sheet_for([window("w1"), window("w2", ["at the bakery", "Odile"])])
    path = tmp_path / "sheet.yaml"
    path.write_text(sheet_text(sheet), encoding="utf-8")
    assert read_sheet(path) == sheet


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "two\nlines",
        " led and trailed ",
        "a line \nthat trails",
        "\n",
        "a\n\n\nb",
        "a\n  b: c\n- d # e",
        "null",
        "true",
        "2026-03-14",
        "12",
        "*alias",
        "a: b",
        "# not a comment",
        "\x07\x7f\x00",
        "%TAG ! x",
        "---",
        "a\n---\nb",
        "\u2029a\u2029",
        "x\x0cy\x1ez",
        "あ🎂" * 200,
    ],
)
def test_any_text_reads_back_unchanged(tmp_path: Path, text: str) -> None:
    judged = window(texts=[f"at the bakery {text}", f"{text} Odile"])
    sheet = sheet_for([judged])
    path = tmp_path / "sheet.yaml"
    path.write_text(sheet_text(sheet), encoding="utf-8", newline="")
    assert read_sheet(path).windows[0].as_messages == judged.messages


def test_a_sheet_opens_with_what_to_do_and_leaves_the_marks_blank() -> None:
    text = sheet_text(sheet_for([window()]))
    assert text.startswith(INSTRUCTIONS)
    assert text.count("\n    verdict:\n") == 3
    assert text.count("\n  missing:\n") == 1
    assert "null" not in text.removeprefix(INSTRUCTIONS)


def test_text_of_several_lines_stands_as_a_block() -> None:
    text = sheet_text(sheet_for([window(texts=["at the bakery\nand home", "Odile"])]))
    assert "text: |-\n      at the bakery\n      and home\n" in text


def test_every_mark_is_taken(tmp_path: Path, content: Any) -> None:
    facts = mark(content, "right", "fix", "wrong", missing=[missing_fact()])["windows"][0]["facts"]
    facts[1] |= {
        "corrected_fact": "Odile lent vince 300 euros by 2026-06-04",
        "corrected_importance": "CRITICAL",
        "corrected_requires_inference": True,
        "note": "who lent it matters",
    }
    (read,) = read_sheet(write(tmp_path / "s.yaml", content)).windows
    assert [fact.verdict for fact in read.facts] == ["right", "fix", "wrong"]
    assert read.facts[1].corrections == {
        "fact": "Odile lent vince 300 euros by 2026-06-04",
        "importance": "CRITICAL",
        "requires_inference": True,
    }
    assert read.facts[1].note == "who lent it matters"
    assert read.missing is not None
    assert read.missing[0].fact == "vince has a sister, Odile"


Change = Callable[[Any], object]


def first(content: Any) -> Any:
    return next(item for item in content["windows"] if item["window_id"] == "w1")


def fact(content: Any, number: int = 2) -> Any:
    return first(content)["facts"][number - 1]


TEXT_HASH = window().window_text_hash
TAMPERED: dict[str, tuple[Change, str, str]] = {
    "window hash": (
        lambda c: first(c).update(window_text_hash="0" * 64),
        "window w1, key window_text_hash",
        "0000",
    ),
    "window id": (lambda c: first(c).update(window_id="w9"), "window w9, key facts", "3 facts"),
    "peers": (lambda c: first(c)["peers"].append("may"), "window w1, key facts", "3 facts"),
    "message text": (
        lambda c: first(c)["messages"][2].update(text="no"),
        "window w1, key window_text_hash",
        TEXT_HASH,
    ),
    "message time": (
        lambda c: first(c)["messages"][0].update(at="2026-06-04T13:00:00+00:00"),
        "window w1, key window_text_hash",
        TEXT_HASH,
    ),
    "no time": (
        lambda c: first(c)["messages"][0].update(at="noon"),
        "window w1, key messages 1, key at",
        "'noon'",
    ),
    "message left out": (
        lambda c: first(c)["messages"].pop(),
        "window w1, key window_text_hash",
        TEXT_HASH,
    ),
    "fact left out": (lambda c: first(c)["facts"].pop(1), "window w1, key facts", "2 facts"),
    "fact twice": (
        lambda c: first(c)["facts"].append(deepcopy(fact(c))),
        "window w1, key facts",
        "4 facts",
    ),
    "facts moved": (lambda c: first(c)["facts"].reverse(), "window w1, key facts", "3 facts"),
    "fact text": (lambda c: fact(c).update(fact="x"), "window w1, fact g2", "something changed"),
    "importance": (
        lambda c: fact(c).update(importance="TRIVIAL"),
        "window w1, fact g2",
        "something changed",
    ),
    "span": (
        lambda c: fact(c).update(source_span="okay"),
        "window w1, fact g2",
        "something changed",
    ),
    "shown message": (
        lambda c: fact(c).update(message="x"),
        "window w1, fact g2, key message",
        "another text",
    ),
    "window left out": (lambda c: c["windows"].pop(), "key windows", "1 windows"),
    "window twice": (
        lambda c: c["windows"].append(deepcopy(first(c))),
        "window w1",
        "the same window twice",
    ),
    "run": (lambda c: c.update(run_id="run-2"), "key windows", "2 windows"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_not_to_be_marked_cannot_change(tmp_path: Path, name: str) -> None:
    change, place, found = TAMPERED[name]
    content = content_of(sheet_for([window("w1"), window("w2", ["at the bakery", "Odile"])]))
    change(content)
    path = write(tmp_path / "s.yaml", content)
    with pytest.raises(CalibrationError) as caught:
        read_sheet(path)
    assert caught.value.where == f"{path}: {place}"
    assert caught.value.found.startswith(found)


UNUSABLE: dict[str, tuple[Change, str, str]] = {
    "unknown verdict": (
        lambda c: fact(c).update(verdict="maybe"),
        "window w1, fact g2, key verdict",
        "'maybe'",
    ),
    "yes": (lambda c: fact(c).update(verdict=True), "window w1, fact g2, key verdict", "True"),
    "correction of a right fact": (
        lambda c: fact(c).update(verdict="right", corrected_fact="x"),
        "window w1, fact g2, key corrected_fact",
        "a correction",
    ),
    "correction without a mark": (
        lambda c: fact(c).update(corrected_importance="MINOR", corrected_requires_inference=False),
        "window w1, fact g2, key corrected_importance, corrected_requires_inference",
        "a correction",
    ),
    "nothing corrected": (
        lambda c: fact(c).update(verdict="fix"),
        "window w1, fact g2, key verdict",
        "fix, and nothing corrected",
    ),
    "corrected to the same": (
        lambda c: fact(c).update(verdict="fix", corrected_importance="MINOR"),
        "window w1, fact g2, key verdict",
        "fix, and nothing corrected",
    ),
    "blank correction": (
        lambda c: fact(c).update(verdict="fix", corrected_fact=" "),
        "window w1, fact g2, key corrected_fact",
        "blank text",
    ),
    "relative time": (
        lambda c: fact(c).update(verdict="fix", corrected_fact="vince starts next week"),
        "window w1, fact g2, key corrected_fact",
        "relative time: next week",
    ),
    "unknown importance": (
        lambda c: fact(c).update(verdict="fix", corrected_importance="HUGE"),
        "window w1, fact g2, key corrected_importance",
        "'HUGE'",
    ),
    "no inference flag": (
        lambda c: fact(c).update(verdict="fix", corrected_requires_inference="no"),
        "window w1, fact g2, key corrected_requires_inference",
        "'no'",
    ),
    "a key more": (
        lambda c: fact(c).update(grade=1),
        "window w1, fact g2, key grade",
        "1",
    ),
    "a key less": (
        lambda c: fact(c).pop("note"),
        "window w1, fact g2, key note",
        "nothing",
    ),
    "missing, another peer": (
        lambda c: first(c).update(missing=[missing_fact(peer_id="may")]),
        "window w1, missing 1, key peer_id",
        "'may'",
    ),
    "missing, span elsewhere": (
        lambda c: first(c).update(missing=[missing_fact(), missing_fact(source_span="Ghent")]),
        "window w1, missing 2, key source_span",
        "'Ghent'",
    ),
    "missing, relative time": (
        lambda c: first(c).update(missing=[missing_fact(fact="vince left three years ago")]),
        "window w1, missing 1, key fact",
        "relative time",
    ),
    "missing, licenses nothing": (
        lambda c: first(c).update(missing=[missing_fact(licensed_inference="NONE")]),
        "window w1, missing 1, key licensed_inference",
        "'NONE'",
    ),
    "missing, no category": (
        lambda c: first(c).update(missing=[missing_fact(category=" ")]),
        "window w1, missing 1, key category",
        "blank text",
    ),
    "missing, a key less": (
        lambda c: first(c).update(missing=[{"fact": "x"}]),
        "window w1, key missing 1, key peer_id",
        "nothing",
    ),
    "another format": (lambda c: c.update(version=2), "key version", "2"),
    "no list": (lambda c: c.update(windows="w1"), "key windows", "'w1'"),
    "no window": (
        lambda c: c["windows"].insert(0, "w0"),
        "window 1",
        "'w0'",
    ),
}


@pytest.mark.parametrize(
    "dress", ["NONE", "none", "None.", " NONE .", '"none"', "(None)", "**NONE**", "…", ""]
)
def test_a_missing_fact_that_licenses_nothing_is_refused_however_that_is_written(
    tmp_path: Path, content: Any, dress: str
) -> None:
    path = write(
        tmp_path / "sheet.yaml",
        mark(content, "right", "right", "right", missing=[missing_fact(licensed_inference=dress)]),
    )
    with pytest.raises(
        CalibrationError, match="missing 1, key licensed_inference: found"
    ) as caught:
        read_sheet(path)
    assert "something that follows from the fact" in str(caught.value)


@pytest.mark.parametrize("said", ["none of his sisters lives near him", "None, Ohio, is his home"])
def test_an_inference_that_begins_with_none_is_one(tmp_path: Path, content: Any, said: str) -> None:
    marked = mark(
        content, "right", "right", "right", missing=[missing_fact(licensed_inference=said)]
    )
    (window_marked,) = read_sheet(write(tmp_path / "sheet.yaml", marked)).windows
    assert window_marked.missing is not None
    assert window_marked.missing[0].licensed_inference == said


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_mark_that_cannot_be_used_is_refused_by_its_place(
    tmp_path: Path, content: Any, name: str
) -> None:
    change, place, found = UNUSABLE[name]
    change(content)
    path = write(tmp_path / "s.yaml", content)
    with pytest.raises(CalibrationError) as caught:
        read_sheet(path)
    assert caught.value.where == f"{path}: {place}"
    assert caught.value.found.startswith(found)


def test_every_other_fault_is_named_too(tmp_path: Path, content: Any) -> None:
    for number in (1, 2, 3):
        fact(content, number)["verdict"] = "maybe"
    with pytest.raises(CalibrationError) as caught:
        read_sheet(write(tmp_path / "s.yaml", content))
    assert "Wrong there too: window w1, fact g2, key verdict; window w1, fact g3" in str(
        caught.value
    )


def test_many_faults_are_counted(tmp_path: Path, content: Any) -> None:
    first(content)["missing"] = [missing_fact(peer_id="may") for _ in range(9)]
    with pytest.raises(CalibrationError, match=r"and 3 more\."):
        read_sheet(write(tmp_path / "s.yaml", content))


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "- 1", "windows: &a []\nrun_id: *a", "format: gold-audit\nformat: gold-audit"],
)
def test_what_is_no_sheet_is_refused_with_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CalibrationError, match="write a new one and mark it again") as caught:
        read_sheet(path)
    assert caught.value.where.startswith(str(path))


def test_a_sheet_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="No such file"):
        read_sheet(tmp_path / "none.yaml")

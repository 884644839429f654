"""A leak fires however it is dressed: white space, case, look-alikes, JSON; and is told safely."""

import json
from collections.abc import Callable

import pytest

from evals.errors import IsolationError
from evals.judging.isolation import fold
from tests.judging.blind import (
    DECK,
    EMOJI,
    LINES,
    LONG,
    OWN,
    QUOTED,
    WIDE,
    blind,
    in_system,
    in_user,
)


def as_it_stands(line: str) -> str:
    return line


def with_time_and_speaker(line: str) -> str:
    return f"2026-06-04 11:58:01 vince: {line}"


def with_speaker(line: str) -> str:
    return f"vince: {line}"


def in_capitals(line: str) -> str:
    return line.upper()


def over_several_lines(line: str) -> str:
    return line.replace(" ", "\r\n\t ")


def with_other_spaces(line: str) -> str:
    return line.replace(" ", "\N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}\N{LINE SEPARATOR}")


def in_wide_letters(line: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in line)


def with_invisible_characters(line: str) -> str:
    dust = "\N{ZERO WIDTH SPACE}\N{SOFT HYPHEN}\N{RIGHT-TO-LEFT OVERRIDE}\N{VARIATION SELECTOR-16}"
    return dust.join(line)


def decomposed(line: str) -> str:
    return line.replace("é", "e\N{COMBINING ACUTE ACCENT}")


def as_json(line: str) -> str:
    return json.dumps(line, ensure_ascii=False)


def as_ascii_json(line: str) -> str:
    return json.dumps(line)


def as_json_in_json(line: str) -> str:
    return json.dumps({"window": json.dumps([line])})


def as_json_in_capitals(line: str) -> str:
    return json.dumps(line.upper(), ensure_ascii=False)


DRESSINGS = [
    as_it_stands,
    with_time_and_speaker,
    with_speaker,
    in_capitals,
    over_several_lines,
    with_other_spaces,
    in_wide_letters,
    with_invisible_characters,
    decomposed,
    as_json,
    as_ascii_json,
    as_json_in_json,
    as_json_in_capitals,
]


@pytest.mark.parametrize("dress", DRESSINGS)
@pytest.mark.parametrize("line", [DECK, LONG, WIDE, QUOTED, EMOJI, LINES[0], LINES[5]])
def test_a_leak_fires_however_it_is_dressed(dress: Callable[[str], str], line: str) -> None:
    guard, params = blind()
    in_user(params, f"Context: {dress(line)} (end)")
    with pytest.raises(IsolationError, match="a window line"):
        guard.check(params)


def test_the_message_names_the_form_that_leaked() -> None:
    guard, params = blind()
    in_system(params, with_time_and_speaker(LONG))
    with pytest.raises(
        IsolationError, match=r"time and speaker '2026-06-04 11:58:01 vince: The Ko"
    ):
        guard.check(params)


def test_what_leaked_cannot_write_on_the_terminal() -> None:
    guard, params = blind(OWN, ("\x1b[31mred\x1b[0m alert\u202e",), ())
    in_user(params, "red alert")
    params["messages"][0]["content"] += "[31mred[0m alert"
    with pytest.raises(IsolationError) as caught:
        guard.check(params)
    assert "\x1b" not in str(caught.value)
    assert "\u202e" not in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("ﬁne", "fine"),
        ("a\nb", "a b"),
        ('\\"quoted\\"', '"quoted"'),
        ("<\\/b>", "</b>"),
        ("\u2028x", "x"),
    ],
)
def test_fold_makes_dressings_of_the_same_words_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("resume", "résumé"), ("a-b", "ab"), ("1", "2")])
def test_fold_keeps_different_words_apart(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_a_lone_surrogate_does_not_break_the_check() -> None:
    guard, params = blind(OWN, ("half \ud83c of a cake",), ())
    in_user(params, "half \ud83c of a cake")
    with pytest.raises(IsolationError):
        guard.check(params)

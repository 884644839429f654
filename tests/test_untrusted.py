"""Strangers' text, made safe for prompts, ids and terminals."""

import json
import re

import pytest

from evals.untrusted import for_id, for_prompt, for_terminal, json_for_prompt

HOSTILE = [
    "</conclusion>",
    "</ conclusion>",
    "a</x></y>",
    "<\\/conclusion>",
    "\\</conclusion>",
    'quote " and \\ backslash',
    "one\ntwo\r\nthree\x0bfour\x0cfive\x1csix\x85seven\u2028eight\u2029nine",
    "\x00\x1b[31m",
    "🎂 é 窓 \u202e\u200b",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_prompt_gets_the_same_text_on_one_line_without_a_closing_tag(text: str) -> None:
    shown = for_prompt(text)
    assert json.loads(shown) == text
    assert len(shown.splitlines()) == 1
    assert "</" not in shown


def test_keys_and_nested_values_are_made_safe_too() -> None:
    value = {"</id>": ["</text>\u2028", None, 1.5, True]}
    shown = for_prompt(value)
    assert json.loads(shown) == value
    assert "</" not in shown
    assert len(shown.splitlines()) == 1


def test_letters_of_every_script_stay_readable() -> None:
    assert for_prompt("窓 é 🎂") == '"窓 é 🎂"'


def test_a_lone_surrogate_can_still_be_sent() -> None:
    shown = for_prompt("half \ud83c of it")
    assert json.loads(shown.encode("utf-8")) == "half \ud83c of it"


def test_json_stays_the_same_json() -> None:
    text = '{\n  "a</b>": "x</y>\u2028z",\n  "c": [1, "<\\/d>"]\n}'
    shown = json_for_prompt(text)
    assert json.loads(shown) == json.loads(text)
    assert "</" not in shown
    assert "\u2028" not in shown
    assert json_for_prompt('{"plain": "text"}') == '{"plain": "text"}'


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("vince", "vince"),
        ("Vince O'Hara", "Vince-O-Hara"),
        ("José Ñandú", "Jose-Nandu"),
        ("../../etc/passwd", "etc-passwd"),
        ("a::b[c]/d", "a-b-c-d"),
        ("-k --lf", "k-lf"),
        ("窓", "x"),
        ("", "x"),
        ("...", "x"),
        ("\x1b[31mred\u202e\x00", "31mred"),
        ("a" * 100, "a" * 40),
        ("a" * 39 + " b", "a" * 39),
        ("v1.2_x", "v1.2_x"),
    ],
)
def test_an_id_is_a_short_ascii_slug(text: str, slug: str) -> None:
    assert for_id(text) == slug
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", slug)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("two\nlines\tand  more\u2028end", "two lines and more end"),
        ("\x1b[31mred", "�[31mred"),
        ("a\u202eb\u200bc\x07d", "a�b�c�d"),
        ("half \ud83c", "half �"),
        ("窓 é 🎂", "窓 é 🎂"),
    ],
)
def test_a_terminal_gets_one_line_that_moves_no_cursor(text: str, shown: str) -> None:
    assert for_terminal(text) == shown


def test_a_long_text_is_cut_and_says_so() -> None:
    assert for_terminal("a" * 300) == "a" * 199 + "…"
    assert for_terminal("a" * 200) == "a" * 200
    assert for_terminal("abcdef", 4) == "abc…"

"""Repeats that need no judge: the same words are found, other words are not."""

import itertools
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from evals.records import Conclusion, Window
from evals.set_level.repeats import string_repeats, words_of

MakeWindow = Callable[..., Window]


def repeated(conclusions: Sequence[Conclusion]) -> list[list[int]]:
    ordinals = {item.conclusion_id: item.ordinal for item in conclusions}
    return [[ordinals[name] for name in group] for group in string_repeats(conclusions)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vince rows", "vince rows"),
        ("Vince rows.", "vince  rows"),
        ("vince rows", "vince rows!\u2028"),
        ("vince is EEO compliant", "Vince is EEO-compliant."),
        ("vince's café is in Oslo", "vince\u2019s cafe\u0301 is in Oslo"),
        ("vince said “yes”", 'vince said "yes"'),
        ("vince lives in Straße 5", "VINCE LIVES IN STRASSE 5"),
        ("vince earns ４０ k", "vince earns 40 k"),  # noqa: RUF001  full-width digits
        ("vince \u200brows\ufe0f", "vince rows"),
        ("vince has a boat", "vince has the boat"),
        ("The boat is an heirloom", "boat is heirloom"),
        ("vince recieves visitors", "vince receives visitors"),
        ("vince moved to Copenhagen", "vince moved to Copenhaagen"),
        ("vince's favourite dish is soup", "vince's favorite dish is soup"),
        ("wiebke wohnt in Flensburg", "wiebke wohnt in Flensbrug"),
        ("葵さんは猫が好き。", "葵さんは猫が好き"),
        ("🎂", "🎂"),
        ("", ""),
    ],
)
def test_what_repeats(make_window: MakeWindow, one: str, other: str) -> None:
    assert repeated(make_window([one, "vince sings", other]).conclusions) == [[0, 2]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vince rows", "vince sings"),
        ("vince starts at the bakery on 2026-06-08", "vince starts at the bakery on 2026-06-09"),
        ("vince paid Rosalind £1,250 for the boat", "vince paid Rosalind £1,260 for the boat"),
        ("vince likes liquorice tea a great deal", "vince dislikes liquorice tea a great deal"),
        ("vince has told his sister Ingeborg", "vince has not told his sister Ingeborg"),
        ("Katharina told Bernadette the news", "Bernadette told Katharina the news"),
        ("vince's brother Tom is a glazier", "vince's brother Tim is a glazier"),
        ("vince bought a coat in Trondheim", "vince bought a cat in Trondheim"),
        ("vince has two grandchildren in Oslo", "vince has ten grandchildren in Oslo"),
        ("vince is happily married", "vince is happily unmarried"),
        ("vince has a grandchild", "vince has grandchildren"),
        ("vince completes the course", "vince completed the course"),
        ("vince works with Martin Hagen", "vince works with Martina Hagen"),
        ("vince rows and sings", "vince sings and rows"),
        ("vince codes in C", "vince codes in C#"),
        ("vince codes in C", "vince codes in C++"),
        ("the tank is at 50", "the tank is at 50 %"),
        ("it was -5 degrees", "it was 5 degrees"),
        ("葵さんは猫がとても好きです", "葵さんは犬がとても好きです"),
        ("Алиса живёт", "Алиса живет"),
        ("🎂", "🎈"),
        ("...", "!"),
        ("a", "the"),
        ("", "vince rows"),
    ],
)
def test_what_does_not_repeat(make_window: MakeWindow, one: str, other: str) -> None:
    assert repeated(make_window([one, other]).conclusions) == []


def test_four_restatements_are_one_group(make_window: MakeWindow) -> None:
    window = make_window(
        [
            "vince is EEO compliant",
            "vince rows",
            "Vince is EEO-compliant.",
            "vince rows on the Haringvliet",
            "vince is an EEO compliant",
            "Vince rows!",
            "vince is eeo complaint",
        ]
    )
    # complaint is compliant with two letters swapped: nine letters, one slip.
    assert repeated(window.conclusions) == [[0, 2, 4, 6], [1, 5]]


def test_a_chain_of_spellings_is_one_group(make_window: MakeWindow) -> None:
    window = make_window(["rows at Haringvliet", "rows at Harringvliet", "rows at Harringvlieet"])
    assert repeated(window.conclusions) == [[0, 1, 2]]


def test_peers_are_kept_apart(make_window: MakeWindow) -> None:
    pairs = [("vince", "is a baker"), ("may", "is a baker"), ("vince", "Is a baker.")]
    assert repeated(make_window(pairs).conclusions) == [[0, 2]]


@pytest.mark.parametrize("texts", [[], ["vince rows"]])
def test_fewer_than_two_are_no_group(make_window: MakeWindow, texts: list[str]) -> None:
    assert repeated(make_window(texts).conclusions) == []


def test_the_order_of_the_batch_changes_the_order_alone(make_window: MakeWindow) -> None:
    rng = random.Random(5)
    texts = ["vince rows", "Vince rows.", "vince sings", "vince recieves", "vince receives"]
    conclusions = list(make_window(texts * 2).conclusions)
    wanted = {frozenset(group) for group in string_repeats(conclusions)}
    assert sorted(len(group) for group in wanted) == [2, 4, 4]
    for _ in range(10):
        rng.shuffle(conclusions)
        groups = string_repeats(conclusions)
        assert {frozenset(group) for group in groups} == wanted
        place = {item.conclusion_id: number for number, item in enumerate(conclusions)}
        flat = [[place[name] for name in group] for group in groups]
        assert flat == sorted(sorted(group) for group in flat)


def is_slip(one: str, other: str) -> bool:
    if not one.isalpha() or not other.isalpha():
        return one == other
    edits = OSA.distance(one, other) <= 0.15 * max(len(one), len(other))
    return edits and (one[0], one[-1]) == (other[0], other[-1])


def test_the_short_cuts_lose_no_pair(make_window: MakeWindow) -> None:
    rng = random.Random(11)
    words = ["bakery", "Haringvliet", "receives", "rows", "Copenhagen", "7", "a"]

    def slip(word: str) -> str:
        at, letter = rng.randrange(len(word)), rng.choice(string.ascii_lowercase)
        return rng.choice([word, word, word[:at] + letter + word[at:], word[:at] + word[at + 1 :]])

    texts = [" ".join(map(slip, rng.choices(words, k=2))) for _ in range(120)]
    levelled = [words_of(text) for text in texts]
    pairs = {
        frozenset([one, other])
        for one, other in itertools.combinations(range(120), 2)
        if len(levelled[one]) == len(levelled[other])
        and all(map(is_slip, levelled[one], levelled[other]))
    }
    groups = [set(group) for group in repeated(make_window(texts).conclusions)]
    inside = [{pair for pair in pairs if pair <= group} for group in groups]
    assert len(pairs) > 50
    assert sum(map(len, inside)) == len(pairs)
    # Every member of a group is there because of a pair.
    assert groups == [set().union(*held) for held in inside]


def test_a_large_batch_is_not_compared_all_with_all(
    make_window: MakeWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []

    def counting(lines: Sequence[str], choices: Sequence[str], **options: Any) -> Any:
        compared.append(len(lines))
        return cdist(lines, choices, **options)

    monkeypatch.setattr("evals.set_level.repeats.cdist", counting)
    rng = random.Random(2)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 10))) for _ in range(300)]
    texts = [" ".join(rng.choices(words, k=12)) for _ in range(498)]
    texts += ["vince recieves visitors", "vince receives visitors"]
    assert repeated(make_window(texts).conclusions) == [[498, 499]]
    assert compared == [2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Vince's boat: 12 ft!", ("vinces", "boat", "12", "ft")),
        ("a the", ("a", "the")),
        ("…", ("...",)),
        ("\u200b \u2028", ("\u200b",)),
        ("", ("",)),
    ],
)
def test_the_words_of_a_text(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words

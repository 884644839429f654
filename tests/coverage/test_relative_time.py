"""Which expressions make a fact unreadable for a stranger, and which only look like time."""

import random
import time
import warnings
from datetime import datetime
from typing import Any

import dateparser.search
import pytest

from evals.coverage.relative_time import relative_expressions

RELATIVE = {
    "Tamar said: “I bought a cello yesterday”": "yesterday",
    "Tamar bought a cello «yesterday»": "yesterday",
    "Tamar bought a cello \u2018yesterday\u2019": "yesterday",
    "Tamar had sold the boat three days before": "three days before",
    "Tamar started her current job within the past year": "within the past year",
    "Tamar moved to Oslo three years ago": "three years ago",
    "Tamar moved to Oslo a month ago": "a month ago",
    "Tamar moved to Oslo a few years back": "a few years back",
    "Tamar broke her arm a while ago": "a while ago",
    "Tamar starts at the clinic next week": "next week",
    "Tamar went to Lyon yesterday": "yesterday",
    "Tamar flies to Lyon tomorrow at 5 pm": "tomorrow at 5 pm",
    "Tamar is in Lyon today": "today",
    "Tamar lost her keys last night": "last night",
    "Tamar ran a race the day before yesterday": "the day before yesterday",
    "Tamar moved last summer": "last summer",
    "Tamar goes to Japan next spring": "next spring",
    "Tamar was promoted last year": "last year",
    "Tamar left Acme earlier this year": "this year",
    "Tamar visits her aunt this weekend": "this weekend",
    "Tamar visits her aunt the weekend after next": "the weekend after next",
    "Tamar went camping two weekends ago": "two weekends ago",
    "Tamar saw her aunt the other day": "the other day",
    "Tamar's baby is due in three weeks": "in three weeks",
    "Tamar starts therapy in three to four weeks": "in three to four weeks",
    "Tamar will call her aunt in 2 hours": "in 2 hours",
    "Tamar moves out two weeks from now": "two weeks from now",
    "Tamar finishes school at the end of the month": "end of the month",
    "Tamar recently moved to Oslo": "recently",
    "Tamar won at a recent chess tournament": "recent",
    "Tamar currently works at Acme": "currently",
    "Tamar works at Acme now": "now",
    "Tamar will soon marry": "soon",
    "Tamar has not found a flat so far": "so far",
    "Tamar has worked at Acme for three years": "for three years",
    "Tamar has been drumming for only a month": "for only a month",
    "Over the past three months Tamar lost 8 kg": "past three months",
    "Tamar has not slept well for weeks": "for weeks",
    "Tamar just moved to Oslo": "just moved",
    "Tamar is 32 years old": "32 years old",
    "Tamar's birthday party is on Saturday": "on Saturday",
    "Tamar has an appointment on Monday": "on Monday",
    "Tamar starts on Friday morning": "on Friday morning",
    "Tamar is moving Monday": "Monday",
    "Tamar started a diet last Friday": "last Friday",
    "Tamar met Oyelaran in March": "in March",
    "Tamar moved in late March": "March",
    "Tamar moves in by August": "August",
    "Tamar's lease ends on 14 March": "14 March",
    "Tamar's lease ends on March 14th": "March 14th",
    "Tamar paid the rent on the 14th": "on the 14th",
    "Tamar fell and the following week she lost her job": "the following week",
    "Tamar went to Lyon last Christmas": "last Christmas",
    "Tamar visits her aunt next Easter": "next Easter",
    "Tamar broke her arm two Fridays ago": "two Fridays ago",
    "Tamar moved to Oslo 3y ago": "3y ago",
    "Tamar moved to Oslo 2 wks ago": "2 wks ago",
    "Tamar wants to move in the near future": "in the near future",
    "Tamar hasn't skied in years": "in years",
    "Tamar got fitter over the last couple of years": "last couple of years",
    "Tamar dislikes her current job": "current job",
    "The current employer of Tamar is Acme": "current employer",
    # Without an absolute date beside it, quoted speech is no better than plain.
    "Tamar said 'see you tomorrow'": "tomorrow",
    # An absolute date does not settle what counts from another moment.
    "On 2026-03-14 Tamar had moved to Lyon three years ago": "three years ago",
    "On 2026-03-14 Tamar planned to move next month": "next month",
    "Tamar was born on 1990-03-14 and came home yesterday": "yesterday",
}
GERMAN_SPANISH_JAPANESE = {
    "Tamar zog vor drei Jahren nach Köln": "vor drei Jahren",
    "Tamar zieht nächste Woche um": "nächste Woche",
    "Tamar war gestern krank": "gestern",
    "Tamar war letzten Sommer in Köln": "letzten Sommer",
    "Tamar arbeitet seit drei Jahren bei Acme": "seit drei Jahren",
    "Tamar arbeitet derzeit bei Acme": "derzeit",
    "Tamar beginnt am Montag": "am Montag",
    "Tamar se mudó hace tres años": "hace tres años",
    "Tamar se mudó la semana pasada": "la semana pasada",
    "Tamar viaja mañana a Lima": "mañana",
    "Tamar llegó ayer": "ayer",
    "Tamar empieza el lunes": "lunes",
    "タマルは昨日引っ越した": "昨日",
    "タマルは3年前に引っ越した": "3年前",
    "タマルは来週引っ越す": "来週",
    "タマルは先月結婚した": "先月",
    "タマルは最近引っ越した": "最近",
}
ABSOLUTE = [
    "Tamar moved to Oslo on 2026-03-14",
    "Tamar moved to Oslo on 14 March 2026",
    "Tamar moved to Oslo on March 14th, 2026",
    "Tamar moved to Oslo on 14/03/2026",
    "Tamar moved to Oslo in March 2026",
    "Tamar moved to Oslo in late March 2026",
    "Tamar moved to Oslo in 2026-03",
    "Tamar moved to Oslo in 2026",
    "Tamar moved to Oslo in spring 2026",
    "Tamar moved to Oslo in Q1 2026",
    "Tamar moved to Oslo in mid-2026",
    "Tamar was in Rome in the second week of March 2026",
    "Tamar was in Rome the week before 6 March 2026",
    "Tamar was in Rome on the Friday before 15 July 2026",
    "Tamar was in Rome on the night of October 30 to 31, 2026",
    "Tamar's flight left on 2026-03-14 09:30 UTC",
    "Tamar has lived in Oslo since 2023",
    "Tamar grew up in Oslo in the 1990s",
    "Tamar likes music from the '80s",
    "Tamar moved on Monday, 16 March 2026",
    "Tamar moved on 2026-03-16 (Monday)",
    "Tamar moved on 2026-03-16, a Monday",
    "Tamar moved on Monday 2026-03-16",
    "Tamar moved two weeks before 2026-03-14",
]
HEDGED = [
    "Tamar sold the boat about ten days before Halloween of an unknown year",
    "At an unknown time Tamar came home two days after the wedding of her sister",
    "At an unknown time before 2026-02-10, Tamar moved to Oslo",
    "As of 2026-02-10, Tamar works at Acme",
    "As of 2026-02-10, Tamar currently works at Acme",
    "As of 2026-03-14, Tamar has worked at Acme for three years",
    "As of 2026-03-14, Tamar is 32 years old",
    "As of 2026-03-14, Tamar dislikes her current job",
    "As of 2026-03-14, Tamar plans to move within the next year",
    "On 2026-03-14 Tamar said that she had recently moved to Oslo",
    "At an unknown time, Tamar lost a bet",
]
HABITS = [
    "Tamar swims every Monday",
    "Tamar swims on Sundays",
    "Tamar swims on Monday mornings",
    "Tamar usually swims on Monday",
    "Tamar visits her aunt every March",
    "Tamar's birthday is on 14 March",
    "Tamar goes for a morning jog every day",
    "Tamar wakes at 6:30 am",
    "Tamar works from 9 to 5",
    "Tamar is on call 24/7",
]
QUOTED = [
    "On 2026-03-14 Tamar said that she would visit her aunt 'the weekend after next'",
    'On 2026-03-14 Tamar told her aunt "see you tomorrow"',
    "Am 2026-03-14 sagte Tamar „bis morgen“",
    "Tamar's favourite song is 'Yesterday'",
    "Tamar loves the film 'Next Friday'",
]
NAMES_AND_NUMBERS = [
    "As of 2026-02-19, Tamar has passed two of the eleven modules",
    "May plays the cello",
    "April and August are Tamar's sisters",
    "Tamar's sister May lives in Oslo",
    "Tamar's cat is called Friday",
    "Tamar reads the Sunday Times",
    "Tamar hates Black Friday",
    "Tamar reads USA Today",
    "Tamar works at Ruby Tuesday",
    "Tamar has seen The Day After Tomorrow",
    "Tamar's neighbour is Mr. Friday",
    "Tamar reads about current affairs",
    "Tamar measures electric current",
    "Tamar loves Christmas",
    "Tamar may march with the sons of her friend",
    "Tamar sat in the sun",
    "Tamar is second in line",
    "Tamar is her aunt's second son",
    "Tamar has 3 cats",
    "Tamar owns a flat with 3 rooms and 80 square metres",
    "Tamar paid 1200 euros",
    "Tamar uses Python 3.11",
    "Tamar lives in room 12-04",
    "Tamar can do 20 push-ups",
]
LENGTHS = [
    "Tamar lived in Lyon for three years",
    "Tamar took a three-week course",
    "Tamar works 40 hours a week",
    "Tamar takes the pill twice a day",
    "Tamar runs for 30 minutes a day",
    "Tamar holds a pose for 30-60 seconds",
    "Tamar ran a marathon in 3 hours 40 minutes on 2026-03-14",
    "Tamar can run 10 km in 50 minutes",
    "Tamar wants to one day live in Rome",
    "Tamar was 12 years old when her father died",
]
NO_TIME = [
    "Tamar is allergic to peanuts",
    "",
    "Tamar zog am 14. März 2026 nach Köln",
    "Tamar schwimmt jeden Montag",
    "Tamar wohnt seit 2023 in Köln",
    "Tamar se mudó el 14 de marzo de 2026",
    "Tamar nada cada lunes",
    "Tamar vive en Lima desde 2023",
    "タマルは2026年3月14日に引っ越した",
    "タマルは毎週月曜日に泳ぐ",
    "タマルはピーナッツのアレルギーがある",
]


@pytest.mark.parametrize(("fact", "expression"), (RELATIVE | GERMAN_SPANISH_JAPANESE).items())
def test_what_a_stranger_cannot_place_is_found(fact: str, expression: str) -> None:
    assert any(expression in found for found in relative_expressions(fact))


@pytest.mark.parametrize(
    "fact",
    [*ABSOLUTE, *HEDGED, *HABITS, *QUOTED, *NAMES_AND_NUMBERS, *LENGTHS, *NO_TIME],
)
def test_what_is_anchored_or_no_time_at_all_is_left_alone(fact: str) -> None:
    assert relative_expressions(fact) == ()


def test_every_expression_is_named_once_and_in_order() -> None:
    fact = "Yesterday Tamar said that she moves next month and currently lives in Oslo"
    assert relative_expressions(fact) == ("Yesterday", "next month and", "currently")


@pytest.mark.parametrize(
    ("fact", "relative"),
    [
        ("Tamar currently works at Acme", True),
        ("As of 2026-03, Tamar currently works at Acme", False),
        ("As of March 2026, Tamar currently works at Acme", False),
        ("As of 14/03/2026, Tamar currently works at Acme", False),
        ("Tamar currently earns 1900 euros", True),  # a number is no date
        ("Tamar currently has 3 cats", True),
        ("As of 2026, Tamar currently works at Acme", False),
        ("タマルは2026年現在アクメで働いている", False),
        ("Tamar, born on 1990-03-14, recently moved to Oslo", True),  # it dates nothing else
        ("Tamar was born in Oslo in 1990 and currently works at Acme", True),
    ],
)
def test_only_a_date_anchors(fact: str, *, relative: bool) -> None:
    assert bool(relative_expressions(fact)) is relative


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Kiritimati", "UTC"])
def test_the_answer_depends_on_neither_clock_nor_zone(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [*RELATIVE, *ABSOLUTE, *HABITS]
    before = [relative_expressions(fact) for fact in facts]
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    relative_expressions.cache_clear()
    try:
        assert [relative_expressions(fact) for fact in facts] == before
    finally:
        monkeypatch.undo()
        time.tzset()


def test_deprecation_warnings_of_the_library_stay_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    search = dateparser.search.search_dates

    def warns(*args: Any, **kwargs: Any) -> list[tuple[str, datetime]] | None:
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        found: list[tuple[str, datetime]] | None = search(*args, **kwargs)
        return found

    monkeypatch.setattr(dateparser.search, "search_dates", warns)
    relative_expressions.cache_clear()
    assert relative_expressions("Tamar went to Lyon yesterday") == ("yesterday",)
    with pytest.raises(DeprecationWarning):  # and the run's own still are errors
        warnings.warn("ours", DeprecationWarning, stacklevel=1)


def test_hostile_text_raises_nothing() -> None:
    chance = random.Random(1)
    parts = ["next", "in", "ago", "Monday", "9999", "99999999999999 years ago", "0000-00-00"]
    parts += ["2026-13-45", "29 February 2023", "\x00", "(?", "\\", "~", "週", "\ud800", "🎂", "'"]
    for _ in range(300):
        text = chance.choice(["", " "]).join(chance.choices(parts, k=chance.randint(1, 8)))
        assert isinstance(relative_expressions(text), tuple)

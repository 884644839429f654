"""Relative time in a fact: what a stranger cannot place on a calendar (3.3).

A date library (``dateparser``) reads the text twice, as if spoken at two moments: an expression
whose date moves with the moment is relative ("next week") or incomplete ("in March"). Around it
stand guards for what it takes for time and is none, and for what it does not know
(``evals.coverage.time_words``). The rules, as far as they are a choice:

- Quoted speech is left alone where the fact carries an absolute date, and so are titles.
- A length of time ("for three years", "40 hours a week") is none, but an open one, which runs up to
  now ("has worked there for three years"), needs an absolute date in the fact, and so do words like
  "currently", and an age. "Three years ago" and "next week" are relative in any company; "ten days
  before the wedding" counts from what it names.
- Weekdays and months without a year are incomplete, unless they come round (habits, birthdays) or
  are a name; a weekday beside its date is part of it. A time of day is none.

- A part of a name ("USA Today", "Mr. Friday") is none, where its capitals or its title say so.

Not looked for: tense, ages without a unit ("is 34"), seasons and holidays without a year ("in the
spring", "at Christmas"; "last Christmas" is found). English is read by what the library knows and a
list of phrases beside it, so that an unusual one can be missed there too. Of German, Spanish and
Japanese are found what the library reads (single words such as "gestern", "mañana", "来週"; lengths
with "ago") and the common words beside it; other languages are not read at all.
"""

import re
import warnings
from collections import Counter
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from evals.coverage.time_words import (
    AMOUNT,
    AMOUNT_AHEAD,
    AMOUNT_TO_DATE,
    BARE_NUMBERS,
    BESIDE_DATE,
    BESIDE_DATE_AFTER,
    BIRTH_BEFORE,
    CLOCK,
    DECADE,
    DISTANCE,
    DISTANCE_TO,
    FUTURE,
    HABIT,
    MONTH,
    MONTH_DAY_AFTER,
    MONTH_DAY_BEFORE,
    NAMED_AFTER,
    NAMED_BEFORE,
    NOW,
    OPEN,
    PART_OF_DAY,
    PRONOUNCED,
    QUOTED,
    SHORT_UNIT,
    SPAN_OF_DATE,
    STAMP,
    TIME_AFTER,
    TIME_BEFORE,
    TITLED,
    WEEKDAY,
    YEAR,
    YEAR_BEFORE,
    YEARLY,
)

# Two moments with nothing in common: year, month, day, weekday and time of day all differ.
_MOMENTS = (datetime(2001, 2, 3, 4, 5, 6), datetime(2032, 11, 17, 22, 33, 44))  # noqa: DTZ001
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_BLANK = "~"
_STRAIGHT = str.maketrans("“”„«»\u2018\u2019", '"""""\'\'')


class _Found(NamedTuple):
    """An expression that the library takes for a time."""

    start: int
    text: str
    moves: bool
    """Whether its date depends on when it is said."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@lru_cache(maxsize=100_000)
def relative_expressions(text: str) -> tuple[str, ...]:
    """Return the relative or incomplete time expressions of a fact, in order; empty where none.

    The same text gives the same answer wherever and whenever it is read.
    """
    # The library reads nothing beside a curly quotation mark.
    text = text.translate(_STRAIGHT)
    plain = _blanked(TITLED.sub(lambda match: "_" * len(match[0]), text), DECADE)
    stamps = list(STAMP.finditer(plain))
    plain = _blanked(plain, STAMP)
    absolute, moving = _read(plain)
    anchored = any(
        not BIRTH_BEFORE.search(plain[:start])
        for start in (*(stamp.start() for stamp in stamps), *(found.start for found in absolute))
    )
    for quote in QUOTED.finditer(plain):
        if anchored or _is_title(quote[0]):
            plain = _blank(plain, quote.start(), quote.end())
    for found in absolute:
        plain = _blank(plain, found.start, found.end)
    hits = {
        (found.start, found.text.strip())
        for found in moving
        if plain[found.start : found.end] == found.text
        and _is_relative(found, plain, anchored=anchored)
    }
    cues = [PRONOUNCED] if anchored else [PRONOUNCED, OPEN]
    hits |= {(match.start(), match[0]) for cue in cues for match in cue.finditer(plain)}
    return _without_parts(hits)


def _read(text: str) -> tuple[list[_Found], list[_Found]]:
    """Return what is absolute and what moves, by every language that the text may be in."""
    found = _search(text, "en")
    for language in ("de", "es", "ja") if _JAPANESE.search(text) else ("de", "es"):
        # These read "do", "son" and bare numbers as dates too: only longer words are believed.
        found += [
            item
            for item in _search(text, language)
            if language == "ja" or _LONG_WORD.search(item.text)
        ]
    absolute = [item for item in found if not item.moves and _is_date(item, text)]
    taken = [range(item.start, item.end) for item in absolute]
    moving = [
        item
        for item in found
        if item.moves
        and not any(
            item.start in span or span.start in range(item.start, item.end) for span in taken
        )
    ]
    return absolute, moving


def _is_date(found: _Found, text: str) -> bool:
    year = YEAR.search(found.text)
    if year is None:
        return False
    if re.search(r"\d", found.text[: year.start()] + found.text[year.end() :]):
        return True  # a day or a month beside it
    return YEAR_BEFORE.search(text[: found.start + year.start()]) is not None


def _search(text: str, language: str) -> list[_Found]:
    first = _dates(text, language, _MOMENTS[0])
    if not first:
        return []
    second = Counter(_dates(text, language, _MOMENTS[1]))
    found, cursor = [], 0
    for expression, date in first:
        start = text.find(expression, cursor)
        if start < 0:  # the library has put its words together anew: their place is not known
            start = cursor
        cursor = start + len(expression)
        found.append(_Found(start, expression, moves=second[expression, date] == 0))
    return found


def _dates(text: str, language: str, moment: datetime) -> list[tuple[str, datetime]]:
    from dateparser.search import search_dates  # noqa: PLC0415  a third of a second

    settings: dict[str, Any] = {
        "RELATIVE_BASE": moment,
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
        # "March 2026" is a month, not the day of the moment in it; "2026" is a year.
        "PREFER_DAY_OF_MONTH": "first",
        "PREFER_MONTH_OF_YEAR": "first",
    }
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return list(search_dates(text, languages=[language], settings=settings) or [])


def _is_relative(found: _Found, text: str, *, anchored: bool) -> bool:
    """Whether a moving expression counts: the guards against what is no relative time."""
    if NOW.fullmatch(found.text) or SPAN_OF_DATE.search(found.text):
        return not anchored and not text.startswith("-", found.end)
    guards = (CLOCK, AMOUNT, PART_OF_DAY, BARE_NUMBERS)
    if any(guard.fullmatch(found.text) for guard in guards) or _is_counted_from(found, text):
        return False
    if AMOUNT_AHEAD.fullmatch(found.text):
        return SHORT_UNIT.search(found.text) is None or FUTURE.search(text) is not None
    named = WEEKDAY.search(found.text) or MONTH.search(found.text)
    if named is not None:
        start, end = found.start + named.start(), found.start + named.end()
        return not HABIT.search(text) and _stands_for_a_time(named[0], text[:start], text[end:])
    # A number, or a word that is taken for an abbreviation, is no time by itself.
    return any(pattern.search(found.text) for pattern in (_LONG_WORD, _JAPANESE))


def _is_counted_from(found: _Found, text: str) -> bool:
    """Whether it is a length that counts from a date or an event which the text names."""
    distance = DISTANCE.match(text, found.start)
    if distance is not None and DISTANCE_TO.match(text, distance.end()):
        return True
    return AMOUNT_TO_DATE.match(text, found.start) is not None


def _stands_for_a_time(name: str, before: str, after: str) -> bool:
    """Whether a weekday or a month says when: it is no name, no attribute, and has no date."""
    if NAMED_BEFORE.search(before) or NAMED_AFTER.match(after):
        return False
    if MONTH.fullmatch(name):
        if YEARLY.search(before + after):
            return False
        rest = MONTH_DAY_BEFORE.search(before) or MONTH_DAY_AFTER.match(after)
    elif BESIDE_DATE.search(before) or BESIDE_DATE_AFTER.match(after):
        return False
    else:
        rest = TIME_AFTER.match(after)
    return TIME_BEFORE.search(before) is not None or rest is not None


def _is_title(quote: str) -> bool:
    words = _LONG_WORD.findall(quote)
    return bool(words) and all(word[0].isupper() for word in words)


def _blanked(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda match: _BLANK * len(match[0]), text)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + _BLANK * (end - start) + text[end:]


def _without_parts(hits: set[tuple[int, str]]) -> tuple[str, ...]:
    """Return the texts in order, less those that lie inside another."""
    spans = sorted((start, start + len(text), text) for start, text in hits)
    return tuple(
        text
        for start, end, text in spans
        if not any(
            other_start <= start and end <= other_end and (other_start, other_end) != (start, end)
            for other_start, other_end, _ in spans
        )
    )

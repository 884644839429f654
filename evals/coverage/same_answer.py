"""The harness's own comparison of two answers: strict, so that it never calls different ones equal.

What it does not find equal is not different; it goes to the judge.
"""

import re
import unicodedata
from datetime import date

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = rf"(?P<month>{'|'.join(f'{name}|{name[:3]}' for name in _MONTHS)})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
# All-number dates only where the year comes first: 03/04/2026 is read two ways.
_DATES = tuple(
    re.compile(rf"(?<![\w-]){pattern}(?![\w-])")
    for pattern in (
        rf"{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}",
        rf"{_MONTH}\s+(?:the\s+)?{_DAY},?\s+{_YEAR}",
        rf"{_YEAR}(?P<between>[-/.])(?P<month>\d{{1,2}})(?P=between)(?P<day>\d{{1,2}})",
        rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}",
    )
)
# A number is one word with its sign and all that stands between its digits: -5, 1.5, 2026-03-14.
_WORD = re.compile(r"(?<![^\W_])[-+]?\.?\d+(?:[.,:/-]\d+)*|[^\W_]+|[^\s\w]")
_RANGE = re.compile(
    "(?<=\\d)\\s*[-\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{EN DASH}\N{EM DASH}]\\s*(?=\\d)"
)
_APOSTROPHE = re.compile("(?<=\\w)['\N{RIGHT SINGLE QUOTATION MARK}](?=\\w)")
_ARTICLE = re.compile(r"\A\s*(?:[Tt]he|[Aa]n|a)\s+(?=\S)")
_COUNTING_PUNCTUATION = frozenset("%&#@/*")
"""Marks that can be all that tells two answers apart: 5 and 5 %, C and C#."""
# Characters that Unicode's compatibility form would turn into another value: 10² into 102.
_KEPT_FORMS = ("<super>", "<sub>", "<fraction>")


def same_answer(gold: str, written: str) -> bool:
    """Return whether two answers are the same words.

    Case, punctuation, white space, Unicode form and a leading article do not count, and a date is
    the same in every form that names its month or puts the year first. Numbers keep their signs and
    points, and currency and other signs count. Two answers of no word at all are never the same.
    """
    return bool(words_of(gold)) and words_of(gold) == words_of(written)


def gives_away(question: str, answer: str) -> bool:
    """Return whether the words of an answer stand in the question, in one run."""
    asked, wanted = words_of(question), words_of(answer)
    starts = range(len(asked) - len(wanted) + 1)
    return bool(wanted) and any(asked[at : at + len(wanted)] == wanted for at in starts)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of ``text`` in the form in which they are compared."""
    # The indefinite article only in lower case: in "A negative" the letter is the answer.
    plain = _ARTICLE.sub("", _unicode_form(text))
    folded = _APOSTROPHE.sub("", plain).casefold()
    for pattern in _DATES:
        folded = pattern.sub(_iso, folded)
    folded = _RANGE.sub("-", folded)  # or "10 - 12" would be the same as "10, 12"
    return tuple(word for word in _WORD.findall(folded) if _counts(word))


def _counts(word: str) -> bool:
    return unicodedata.category(word[0])[0] != "P" or len(word) > 1 or word in _COUNTING_PUNCTUATION


def _iso(found: re.Match[str]) -> str:
    parts = found.groupdict()
    month = parts["month"]
    number = int(month) if month.isdecimal() else _month_number(month)
    if "day" not in parts:
        return f"{parts['year']}-{number:02}"
    try:
        return date(int(parts["year"]), number, int(parts["day"])).isoformat()
    except ValueError:  # no such day
        return found[0]


def _month_number(name: str) -> int:
    return next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name[:3]))


def _unicode_form(text: str) -> str:
    return unicodedata.normalize(
        "NFC",
        "".join(
            char
            if unicodedata.decomposition(char).startswith(_KEPT_FORMS)
            else unicodedata.normalize("NFKC", char)
            for char in unicodedata.normalize("NFC", text)
        ),
    )

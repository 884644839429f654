"""Questions that measure nothing: a yes or no to guess, or the window's own words (3.4)."""

import re
from collections.abc import Iterable

from evals.coverage.same_answer import gives_away
from evals.coverage.spans import letters_in, plain_form
from evals.judging.isolation import fold
from evals.records import Message

LEAST_QUOTED_WORDS = 4
"""A whole message of fewer words ("See you!") can stand in a question by chance."""
_LETTERS_A_WORD = 4
"""Where a script has no spaces, as ``letters_in`` counts: two Chinese signs are about a word."""
_SURE_LETTERS = 8
"""A shorter span has to be found as whole words: "tea" is no quotation in "Which team …"."""

_YES_OR_NO = re.compile(
    r"\W*(?:yes|no|ja|nein|s[ií]|はい|いいえ)\s*(?:(?:[,;:!、。\u2014]|-\s).*|\W*)",
    re.IGNORECASE | re.DOTALL,
)


def is_yes_or_no(answer: str) -> bool:
    """Return whether an answer is yes or no, with or without more behind a comma.

    In English, German, Spanish and Japanese. "No. 5" and "No Country for Old Men" are neither.
    """
    return _YES_OR_NO.fullmatch(plain_form(answer)) is not None


def quotes_source(question: str, span: str, messages: Iterable[Message]) -> bool:
    """Return whether a question holds its source span, or a whole message of four or more words.

    Its answering call would be given the window's words, which the conclusions alone must hold.
    """
    asked = fold(question)
    if gives_away(question, span):
        return True
    if letters_in(span) >= _SURE_LETTERS and fold(span) in asked:
        return True
    return any(
        _words_in(message.text) >= LEAST_QUOTED_WORDS and fold(message.text) in asked
        for message in messages
    )


def _words_in(text: str) -> int:
    return sum(
        max(1, letters_in(word) // _LETTERS_A_WORD) if _is_unspaced(word) else 1
        for word in text.split()
        if letters_in(word)
    )


def _is_unspaced(word: str) -> bool:
    return letters_in(word) > sum(char.isalnum() for char in word)

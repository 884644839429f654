"""Finding the words that the judge copied from a window: a span lies in one message, or nowhere."""

import unicodedata
from collections.abc import Iterable

from evals.records import Message

# Marks that a copyist straightens without noticing. What Unicode itself calls equal is NFKC's.
_PLAIN_MARKS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a", "'")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
    | dict.fromkeys("\u2010\u2011\u2013", "-")
)


LEAST_LETTERS = 3
"""Of a span, as ``letters_in`` counts them."""


def message_with(span: str, messages: Iterable[Message]) -> str | None:
    """Return the id of the message that holds ``span``, or None.

    Compared after Unicode NFKC, with runs of white space as one space, without invisible
    characters, and with quotation marks and dashes in their plain form; letters stay as they are,
    case included. Of several messages the first counts in which the span begins and ends with a
    whole word ("yes" is rather in "Oh yes" than in "yesterday"), else the first of all. A blank
    span is nowhere, and so is one of fewer than ``LEAST_LETTERS`` ("I"), unless it is a whole
    message: it is in nearly every message and shows nothing.
    """
    wanted = plain_form(span)
    if not wanted:
        return None
    if letters_in(wanted) < LEAST_LETTERS:
        whole = (item.message_id for item in messages if plain_form(item.text) == wanted)
        return next(whole, None)
    inside_a_word = None
    for message in messages:
        text = plain_form(message.text)
        start = text.find(wanted)
        while start >= 0:
            if _is_whole(text, start, start + len(wanted)):
                return message.message_id
            inside_a_word = inside_a_word or message.message_id
            start = text.find(wanted, start + 1)
    return inside_a_word


def letters_in(text: str) -> int:
    """Return the letters and digits of ``text``; those of a script without case count two.

    Chinese and Japanese say in one sign what takes a syllable or more elsewhere.
    """
    return sum(2 if unicodedata.category(char) == "Lo" else char.isalnum() for char in text)


def plain_form(text: str) -> str:
    """Return ``text`` in the form in which spans are compared: see ``message_with``."""
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", visible).translate(_PLAIN_MARKS).split())


def _is_whole(text: str, start: int, end: int) -> bool:
    return not _in_word(text, start) and not _in_word(text, end)


def _in_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()

"""Cutting text to the columns that it takes on a screen. East Asian characters take two."""

import unicodedata

from evals.untrusted import for_terminal

_TAKES_NO_COLUMN = {"Mn", "Me"}


def columns(text: str) -> int:
    """Return how many columns ``text`` takes in a fixed-width face."""
    return sum(_char_columns(char) for char in text)


def cut(text: str, limit: int) -> str:
    """Return ``text`` on one line in at most ``limit`` columns; a cut shows as ``…``.

    Control, format and bidirectional characters are replaced (``evals.untrusted``).
    """
    shown = for_terminal(text, limit=max(len(text), 1))
    if columns(shown) <= limit:
        return shown
    kept, taken = [], 1  # one column is the ellipsis
    for char in shown:
        taken += _char_columns(char)
        if taken > limit:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


def _char_columns(char: str) -> int:
    if unicodedata.category(char) in _TAKES_NO_COLUMN:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1

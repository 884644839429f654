"""The isolation check of blind requests (1.1): no source text and no sibling in what is sent."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evals.errors import IsolationError
from evals.untrusted import for_terminal

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED_SPACE = frozenset("bfnrt")
_ESCAPE_DEPTH = 3
"""JSON in JSON in JSON: as deep as a tool's result inside a message could come."""

PROTOCOL_WORDS = frozenset(
    [
        "model",
        "max_tokens",
        "system",
        "messages",
        "tools",
        "metadata",
        "user_id",
        "type",
        "text",
        "role",
        "content",
        "user",
        "assistant",
        "cache_control",
        "ephemeral",
        "output_config",
        "format",
        "json_schema",
        "schema",
        "thinking",
        "disabled",
        "adaptive",
    ]
)
"""Keys and values that the API itself fixes. As a whole string they say nothing of any source."""

_TODO = "Nothing was sent. Find what put it there; trust no result of this run."


@dataclass(frozen=True)
class Guard:
    """What one blind request may not hold, and what accounts for what it may."""

    where: str
    """The case, for the message."""
    forbidden: "ForbiddenText"
    accounted: tuple[str, ...]
    """The strings that the request consists of by right: the instructions, the user template filled
    with the conclusion, the strings of the answer schema, the model id. Made from the template and
    the conclusion, never from the request."""

    def check(self, params: dict[str, Any]) -> None:
        """Assert that ``params``, the body about to be sent, leaks nothing.

        Whatever the template and the conclusion do not account for is a leak. The search names a
        line of the source or a sibling where one is in it, on top of the occurrences that the
        template and the conclusion account for.

        Raises:
            IsolationError: something leaked.
        """
        sent = [text for text in strings_of(params) if text not in PROTOCOL_WORDS]
        # What is sent and also accounted for, string by string, cannot hold more than is
        # accounted for; the search is made only to name what is left over.
        surplus = _surplus(sent, self.accounted)
        if not surplus:
            return
        # Joined, so that a line cut over two blocks is found too; once without the strings that
        # belong there, which can stand between the two.
        all_sent, left_over = _readings("".join(sent)), _readings("".join(surplus))
        legit = _readings("".join(self.accounted))
        for label, text, folded in self.forbidden.folded:
            for depth, legit_text in enumerate(legit):
                allowed = legit_text.count(folded)
                if max(all_sent[depth].count(folded), left_over[depth].count(folded)) > allowed:
                    raise IsolationError(
                        self.where,
                        f"{label} {for_terminal(text, 60)!r} in a blind request",
                        "the instructions and the conclusion alone (1.1)",
                        _TODO,
                    )
        # Not a line that we know of, yet not ours either: half a line, an earlier message, the
        # deriver's prompt. A blind request consists of what is accounted for and of nothing else.
        raise IsolationError(
            self.where,
            f"{for_terminal(surplus[0], 60)!r} in a blind request",
            "the instructions and the conclusion alone (1.1)",
            _TODO,
        )


@dataclass(frozen=True)
class ForbiddenText:
    """Every text whose presence in a blind request would be a leak. One per window, shared."""

    lines: tuple[tuple[str, str], ...]
    """(what it is, text): window lines with and without speaker and time, conclusions."""

    @cached_property
    def folded(self) -> tuple[tuple[str, str, str], ...]:
        """(what it is, text, folded text), without repeats or empty lines, longest first."""
        seen = {fold(text): (label, text) for label, text in reversed(self.lines)}
        longest_first = sorted(filter(None, seen), key=len, reverse=True)
        return tuple((*seen[folded], folded) for folded in longest_first)


def fold(text: str) -> str:
    """Return ``text`` so that dressings of the same words are equal.

    Unicode NFKC and case folded; white space, control and invisible characters and backslashes
    dropped, so that neither another line break nor a cut inside a word hides anything.
    """
    folded = unicodedata.normalize("NFKC", _visible(text)).casefold()
    return _visible(unicodedata.normalize("NFKC", folded))


def _readings(text: str) -> list[str]:
    """Return ``text`` folded as it stands, and with JSON's escapes undone once, twice, …."""
    levels = [text]
    for _ in range(_ESCAPE_DEPTH):
        levels.append(_unescape(levels[-1]))
    return [fold(level) for level in levels]


def _unescape(text: str) -> str:
    plain = _ESCAPE.sub(_unescape_one, text)
    # Two escapes can be the halves of one character.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape_one(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return " " if found[2] in _ESCAPED_SPACE else found[2]


def _visible(text: str) -> str:
    # Cc: controls; Cf: zero-width and bidirectional; variation selectors are filed under marks.
    return "".join(
        char
        for char in text
        if char != "\\"
        and not char.isspace()
        and unicodedata.category(char) not in {"Cc", "Cf"}
        and not "\ufe00" <= char <= "\ufe0f"
    )


def strings_of(value: Any) -> Iterator[str]:
    """Yield every string inside a decoded payload, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from strings_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings_of(item)


def _surplus(sent: list[str], accounted: tuple[str, ...]) -> list[str]:
    left = Counter(accounted)
    left.subtract(sent)
    if min(left.values(), default=0) >= 0:
        return []
    surplus = []
    for text in reversed(sent):  # the last copies are the surplus ones
        if left[text] < 0:
            left[text] += 1
            surplus.append(text)
    return surplus[::-1]

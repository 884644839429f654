"""The isolation check of blind requests (1.1): no source text and no sibling in what is sent."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evals.errors import IsolationError
from evals.untrusted import for_terminal

_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])

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

        An occurrence is a leak where it comes on top of those that the template and the
        conclusion account for.

        Raises:
            IsolationError: something leaked.
        """
        sent = [text for text in strings_of(params) if text not in PROTOCOL_WORDS]
        # What is sent and also accounted for, string by string, cannot hold more than is
        # accounted for; only where something is left over does the search have to be made.
        if not _surplus(sent, list(self.accounted)):
            return
        # Joined, so that a line cut over two blocks is found too.
        sent_text, legit_text = fold(" ".join(sent)), fold(" ".join(self.accounted))
        for label, line in self.forbidden.folded:
            if sent_text.count(line) > legit_text.count(line):
                raise IsolationError(
                    self.where,
                    f"{label} {for_terminal(line, 60)!r} in a blind request",
                    "the instructions and the conclusion alone (1.1)",
                    "Nothing was sent. Find what put it there; do not trust results of this run.",
                )


@dataclass(frozen=True)
class ForbiddenText:
    """Every text whose presence in a blind request would be a leak. One per window, shared."""

    lines: tuple[tuple[str, str], ...]
    """(what it is, text): window lines with and without speaker and time, sibling conclusions."""

    @cached_property
    def folded(self) -> tuple[tuple[str, str], ...]:
        """The same, folded, without repeats or empty lines, longest first."""
        seen = {fold(text): label for label, text in reversed(self.lines)}
        seen.pop("", None)
        return tuple((seen[text], text) for text in sorted(seen, key=len, reverse=True))


def fold(text: str) -> str:
    r"""Return ``text`` so that dressings of the same words are equal.

    Unicode NFKC and case folded, white space collapsed,
    invisible characters dropped, JSON's escapes (``\n``, ``\"``) undone.
    """
    plain = _ESCAPED_SPACE.sub(" ", text).replace("\\", "").translate(_INVISIBLE)
    return " ".join(unicodedata.normalize("NFKC", plain).casefold().split())


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


def _surplus(sent: list[str], left: list[str]) -> bool:
    for text in sent:
        if text not in left:
            return True
        left.remove(text)
    return False

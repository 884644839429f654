"""What a deriver prompt of Honcho says: the target peer, and the window message by message.

Source: design section 8. The prompt holds the peer id on the line after ``Target peer:`` and the
window between ``<messages>`` and ``</messages>``.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from evals.errors import TraceError
from evals.records import Message
from evals.untrusted import for_terminal

_TARGET = re.compile(r"^[ \t]*Target peer:[ \t\r]*\n(?P<peer>[^\n]*)", re.MULTILINE)
_OPEN, _CLOSE = "<messages>", "</messages>"
_HEADER = re.compile(
    r"(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}) (?P<rest>.*)"
)
_CLOCK_SKEW = timedelta(minutes=5)
"""How far the clock that stamps messages may run ahead of the one that stamps the call."""


@dataclass(frozen=True)
class DeriverPrompt:
    """One prompt, taken apart."""

    peer_id: str
    window_text: str
    """Verbatim what stands between the tags, without the line break at either end."""
    prompt_hash: str
    """sha256 of the prompt with the peer id and the window cut out, 64 hex digits: the same for
    every call that one deriver makes. Where the call has several messages, of all of them."""


@dataclass(frozen=True)
class _Header:
    sent_at: datetime
    peer_id: str
    text: str


def read_prompt(parts: Sequence[tuple[str, str]], where: str) -> DeriverPrompt:
    """Take the deriver's prompt apart.

    The first ``Target peer:`` line counts, and the last closing tag: what comes between them can be
    written by anyone, what comes outside of them cannot.

    Args:
        parts: role and text of each message of the call.
        where: the record, for messages.

    Raises:
        TraceError: no part holds a target peer and a window.
    """
    for index, (role, text) in enumerate(parts):
        target = _TARGET.search(text)
        if target is None or not target["peer"].strip():
            continue
        start, end = text.find(_OPEN, target.end()), text.rfind(_CLOSE)
        if start < 0 or end < start:
            continue
        window_start = start + len(_OPEN)
        left = text[: target.start("peer")] + text[target.end("peer") : window_start] + text[end:]
        return DeriverPrompt(
            peer_id=target["peer"].strip(),
            window_text=text[window_start:end].removeprefix("\n").removesuffix("\n"),
            prompt_hash=_hash_of([*parts[:index], (role, left), *parts[index + 1 :]]),
        )
    raise TraceError(
        where,
        "no 'Target peer:' line with a peer id followed by <messages> … </messages>",
        "a prompt of Honcho's deriver",
        "Check that the trace was written by a version of Honcho whose deriver prompt has both.",
    )


def split_messages(
    window_text: str, *, target_peer: str, derived_at: datetime, where: str
) -> tuple[Message, ...]:
    """Return the messages of a window, their times in UTC, their ids ``m1``, ``m2``, ….

    A message is ``YYYY-MM-DD HH:MM:SS peer: text``, and its text may run over several lines, some
    of which may look just like that: a log or a chat that someone pasted. The time decides. A line
    that looks like a message starts one if its time

    - is not before the time of the message that it would end, for what was pasted into a message is
      older than the message, whereas the next message is not; and
    - is not after the call that read it (plus five minutes for clocks that differ). This rule is
      off where the window's first message breaks it: then the times are not the clock's.

    Otherwise the line stays in the text of the message before it, and so does all that is in doubt.

    The limit of the rule: a pasted line whose time falls between its message and the call, such as
    a log in local time, is taken for a message; a real message that is stored with an earlier time
    than the one before it is taken for text. Either way no character of the window is lost.

    Args:
        window_text: what stands between the tags.
        target_peer: the peer the deriver ran for: its id is known even where it holds a colon.
        derived_at: the time of the call, aware.
        where: the record, for messages.

    Raises:
        TraceError: the window does not start with a message.
    """
    lines = window_text.split("\n")
    first = _header_of(lines[0], target_peer)
    if first is None:
        raise TraceError(
            where,
            f"a window that starts with {for_terminal(lines[0], 60)!r}",
            "'YYYY-MM-DD HH:MM:SS peer: text'",
            "Check that the trace was written by a version of Honcho that formats messages so.",
        )
    clock_holds = _is_past(first, derived_at)
    found: list[tuple[_Header, list[str]]] = [(first, [first.text])]
    for line in lines[1:]:
        header = _header_of(line, target_peer)
        if (
            header is not None
            and found[-1][0].sent_at <= header.sent_at
            and (_is_past(header, derived_at) or not clock_holds)
        ):
            found.append((header, [header.text]))
        else:
            found[-1][1].append(line)
    return tuple(
        Message(
            message_id=f"m{number}",
            peer_id=header.peer_id,
            text="\n".join(texts),
            sent_at=header.sent_at,
        )
        for number, (header, texts) in enumerate(found, start=1)
    )


def _header_of(line: str, target_peer: str) -> _Header | None:
    match = _HEADER.fullmatch(line)
    if match is None:
        return None
    try:
        sent_at = datetime.fromisoformat(match["time"]).replace(tzinfo=UTC)
    except ValueError:  # the 31st of June
        return None
    rest = match["rest"]
    if f"{rest} ".startswith(f"{target_peer}: "):
        peer_id = target_peer
    else:
        peer_id, colon, _ = f"{rest} ".partition(": ")
        if not colon or not peer_id or peer_id != peer_id.strip() or not peer_id.isprintable():
            return None
    return _Header(sent_at, peer_id, rest[len(peer_id) + 2 :])


def _is_past(header: _Header, derived_at: datetime) -> bool:
    return header.sent_at - derived_at <= _CLOCK_SKEW


def _hash_of(parts: Sequence[tuple[str, str]]) -> str:
    hashed = parts[0][1] if len(parts) == 1 else json.dumps([list(part) for part in parts])
    return hashlib.sha256(hashed.encode()).hexdigest()

"""A window as prompts show it, and as the isolation check forbids it."""

from collections.abc import Iterable

from evals.judging.isolation import ForbiddenText
from evals.records import Message, Window
from evals.untrusted import for_prompt


def message_lines(messages: Iterable[Message]) -> str:
    """Return one JSON object a line: ``{"id", "at", "peer", "text"}``, ``at`` null without time."""
    return json_lines(
        {"id": item.message_id, "at": item.stamp(), "peer": item.peer_id, "text": item.text}
        for item in messages
    )


def forbidden_text(window: Window) -> ForbiddenText:
    """Return every text of a window that a blind request may not hold (design section 4).

    Each message's whole text and each of its lines, bare and with speaker and time before it as a
    deriver's prompt shows them, and every conclusion. A request's own conclusion is among them: the
    guard accounts for it once, so that a second copy, or an equal sibling, is still a leak.
    """
    lines = []
    for message in window.messages:
        for text in dict.fromkeys([message.text, *message.text.splitlines()]):
            spoken = f"{message.peer_id}: {text}"
            lines += [("a window line", text), ("a window line with its speaker", spoken)]
            if message.sent_at is not None:
                at = message.sent_at.strftime("%Y-%m-%d %H:%M:%S")
                lines.append(("a window line with time and speaker", f"{at} {spoken}"))
    lines += [("a conclusion of the window", item.text) for item in window.conclusions]
    return ForbiddenText(lines=tuple(lines))


def json_lines(values: Iterable[object]) -> str:
    """Return one JSON document a line, none of which can close the tag around them."""
    return "\n".join(for_prompt(value) for value in values)

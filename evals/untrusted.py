"""Text written by strangers (conclusions, messages, peer names), made safe for one place each.

HTML is escaped by the templates; here are the places without a template: prompts, ids, terminals.
"""

import json
import re
import unicodedata

# What JSON leaves as it is although readers take it for a line break (NEL, U+2028, U+2029), and
# what UTF-8 cannot carry (lone surrogates).
_PROMPT_UNSAFE = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
_ID_UNSAFE = re.compile(r"[^A-Za-z0-9_.]+")
_SLUG_LENGTH = 40


def for_prompt(value: object) -> str:
    r"""Return ``value`` as one JSON document that cannot close the tag around it.

    ``</`` becomes ``<\/``, which JSON reads as the same text, so no closing tag survives; line
    breaks of every kind are escaped, so no message can pose as another one.
    """
    return json_for_prompt(json.dumps(value, ensure_ascii=False))


def json_for_prompt(text: str) -> str:
    """Return a text that is JSON already, made safe as by ``for_prompt``: the same JSON value."""
    closed = text.replace("</", "<\\/")
    return _PROMPT_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", closed)


def for_id(text: str) -> str:
    """Return an ASCII slug of ``text`` for test ids and file names: ``[A-Za-z0-9_.-]``, 1 to 40.

    Not unique by itself: whoever needs uniqueness adds a hash.
    """
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return _ID_UNSAFE.sub("-", ascii_text).strip("-.")[:_SLUG_LENGTH].strip("-.") or "x"


def for_terminal(text: str, limit: int = 200) -> str:
    """Return ``text`` on one line without control, format or bidirectional characters.

    At most ``limit`` characters; a cut shows as ``…``.
    """
    flat = " ".join(text.split())
    shown = "".join("\N{REPLACEMENT CHARACTER}" if _is_control(char) else char for char in flat)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _is_control(char: str) -> bool:
    # Cc: escape sequences; Cf: right-to-left overrides and zero-width; Cs: lone surrogates.
    return unicodedata.category(char) in {"Cc", "Cf", "Cs"}

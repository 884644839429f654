"""Names of open slots, compared as the same slot in other dress."""

import re

_WRAPPED = re.compile(r"UNKNOWN\s*\((.*)\)", re.IGNORECASE | re.DOTALL)
_TAIL = re.compile(r"[(:].*", re.DOTALL)
_JOINTS = re.compile(r"[\s_/-]+")


def slot_name(slot: str) -> str:
    """Return the bare name of a slot, for comparison.

    The vocabulary is free text, so dressing is undone and nothing else: case; spaces, hyphens and
    slashes for ``_``; the wrapper ``UNKNOWN(…)``; an explanation in brackets or after a colon.
    ``Object or content (what to)`` is OBJECT_OR_CONTENT; ``OBJECT`` is not.
    """
    wrapped = _WRAPPED.fullmatch(slot.strip())
    bare = _TAIL.sub("", wrapped[1] if wrapped else slot)
    return _JOINTS.sub("_", bare.strip()).strip("_").upper()

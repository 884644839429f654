"""The kinds of field that formats share, and a misfit told in words.

Formats are pydantic models in strict mode: nothing is coerced.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, ValidationError

from evals.errors import TraceError
from evals.untrusted import for_terminal

_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?"
)


def _sendable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"whole characters, not half of a surrogate pair at character {error.start}"
        ) from error
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("text that is not blank")
    return text


def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        # As it will be read back: a zone becomes its offset.
        return datetime.fromisoformat(value.isoformat())
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError("a date and time as ISO 8601 writes it, such as 2026-06-04T11:58:02+00:00")
    return datetime.fromisoformat(value)


Text = Annotated[str, AfterValidator(_sendable)]
"""Text that can be hashed and sent: no lone surrogates."""
FilledText = Annotated[Text, AfterValidator(_filled)]
"""The same, with at least one character that is not white space."""
Moment = Annotated[
    datetime, BeforeValidator(_moment), PlainSerializer(datetime.isoformat, return_type=str)
]
"""A date and time from ISO 8601 text: aware where it states an offset, else naive. Never a number,
never a bare date."""


def misfit(
    error: ValidationError, where: str, todo: str, *, root: Sequence[str | int] = ()
) -> TraceError:
    """Return what pydantic found as one error: its first finding, and the number of the others.

    Args:
        error: the findings, on the value at ``root``.
        where: file, or ``file:line``.
        todo: what the reader can do.
        root: keys and indexes from the record to the value that was validated.
    """
    findings = error.errors(include_url=False)
    first = findings[0]
    wanted = str(first["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if first["type"] == "extra_forbidden":
        found, wanted = "this key", "none of this name"
    elif first["type"] == "missing":
        found, wanted = "nothing", "an entry here"
    else:
        found = shown_value(first["input"])
    others = f" ({len(findings) - 1} more in this record)" if len(findings) > 1 else ""
    return TraceError(
        f"{where} at {json_path((*root, *first['loc']))}",
        found,
        for_terminal(wanted) + others,
        todo,
    )


def json_path(steps: Sequence[str | int]) -> str:
    """Return ``$.a.b[0]`` for ``("a", "b", 0)``."""
    shown = (
        f"[{step}]" if isinstance(step, int) else f".{for_terminal(step, 60)}" for step in steps
    )
    return "$" + "".join(shown)


def shown_value(value: Any) -> str:
    """Return a JSON value in a few words; arrays and objects by kind only, as they may be deep."""
    if isinstance(value, str):
        return repr(for_terminal(value, 60))
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "an array"
    return "null" if value is None else for_terminal(repr(value), 60)

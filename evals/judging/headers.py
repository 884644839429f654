"""What an answer's headers say of when to come back: the one place where they are read.

What cannot be read is let be: no wait is made up for it, and it is never an error. Times are
measured from the answer's own ``date`` where it has one, so that a clock that is wrong, here or
there, makes no wait longer or shorter.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal, get_args

QuotaKind = Literal["requests", "tokens", "input-tokens", "output-tokens"]
"""What a quota counts; ``tokens`` stands for the tightest of several, or for input and output."""

_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?P<fraction>\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_COUNT = re.compile(r"\d{1,15}", re.ASCII)


@dataclass(frozen=True)
class QuotaLeft:
    """What is left of one quota, as one answer says."""

    kind: QuotaKind
    limit: int | None
    """Of a full quota; None where the answer does not say."""
    remaining: int
    """At the server when it answered; of tokens, to the nearest thousand."""
    reset_in_s: float
    """Until the quota is full again, from when the answer was made; negative if that has passed."""


def quotas_left(headers: Mapping[str, str], now: datetime) -> tuple[QuotaLeft, ...]:
    """Return the quotas that an answer tells of; those with a part unreadable are left out.

    Reads ``anthropic-ratelimit-<kind>-remaining`` and ``-reset`` (RFC 3339), and ``-limit``. A
    reset in whole seconds is taken for the end of that second.

    Args:
        headers: of the answer, names in lower case or case-insensitive.
        now: aware; what a reset is measured from where the answer has no ``date``.
    """
    found = []
    made_at: datetime | None = None
    for kind in get_args(QuotaKind):
        prefix = f"anthropic-ratelimit-{kind}"
        remaining = _count(headers.get(f"{prefix}-remaining"))
        reset = None if remaining is None else _time_of(headers.get(f"{prefix}-reset"))
        if remaining is None or reset is None:
            continue
        limit = _count(headers.get(f"{prefix}-limit"))
        made_at = made_at or _made_at(headers, now)
        found.append(QuotaLeft(kind, limit, remaining, (reset - made_at).total_seconds()))
    return tuple(found)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that an answer asks to wait; None where it does not say, or unreadably.

    Reads ``retry-after-ms``, then ``retry-after`` in seconds (RFC 9110 10.2.3; fractions too) or
    as an HTTP date. Never negative; can be infinite: ``RetryPolicy`` says what is believed.

    Args:
        headers: of the answer, names in lower case or case-insensitive.
        now: aware; what a date is measured from where the answer has no ``date``.
    """
    milliseconds = _not_negative(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _not_negative(text)
    if seconds is not None:
        return seconds
    date = _date_of(text)
    return None if date is None else max(0.0, (date - _made_at(headers, now)).total_seconds())


def _made_at(headers: Mapping[str, str], now: datetime) -> datetime:
    return _date_of(headers.get("date")) or now


def _not_negative(text: str | None) -> float | None:
    try:
        value = float("nan" if text is None else text)
    except ValueError:
        return None
    return None if math.isnan(value) or value < 0 else value


def _count(text: str | None) -> int | None:
    if text is None or not _COUNT.fullmatch(text.strip()):
        return None
    return int(text)


def _date_of(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        date = parsedate_to_datetime(text.strip())
        # A date of zone "-0000" comes out naive, and means UTC (RFC 5322 3.3).
        aware = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        return aware.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _time_of(text: str | None) -> datetime | None:
    match = None if text is None else _RFC_3339.fullmatch(text.strip())
    if match is None:
        return None
    try:
        time = datetime.fromisoformat(match[0].upper()).astimezone(UTC)
        return time if match["fraction"] else time + timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None

"""When a failed attempt is made again: one small value, and the reading of ``retry-after``."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and after how long.

    The wait before attempt k + 1 is drawn from the upper half of ``first_wait_s * 2 ** (k - 1)``,
    which ``longest_wait_s`` bounds; a longer ``retry-after`` is waited out instead.
    """

    max_attempts: int
    """HTTP attempts a call may take, the first included."""
    attempt_timeout_s: float
    """Hard deadline of one attempt, from sending to the last byte."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    longest_retry_after_s: float = 300.0
    """Bound on what a server can ask for: more is waited this long and then tried."""

    def wait_s(self, attempts: int, retry_after_s: float | None, chance: float) -> float:
        """Return the seconds to wait after ``attempts`` failed attempts.

        Args:
            attempts: attempts made so far, from 1.
            retry_after_s: what the server asked for; None where it did not.
            chance: jitter, 0 to 1.
        """
        backoff_s = self._backoff_s(attempts, chance)
        if retry_after_s is None:
            return backoff_s
        return max(backoff_s, min(retry_after_s, self.longest_retry_after_s))

    def pause_s(self, retry_after_s: float | None, chance: float) -> float:
        """Return the seconds that all other calls wait after the same refusal.

        What the server asked for, bounded, and no more; where it did not say, the first wait: how
        often one call was refused says nothing of the others.
        """
        if retry_after_s is None:
            return self._backoff_s(1, chance)
        return min(retry_after_s, self.longest_retry_after_s)

    def _backoff_s(self, attempts: int, chance: float) -> float:
        # Doubling stops at 2 ** 32: far above any bound, and no overflow.
        doubled = self.first_wait_s * 2.0 ** min(attempts - 1, 32)
        return min(doubled, self.longest_wait_s) * (0.5 + chance / 2)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that an answer asks to wait; None where it does not say, or unreadably.

    Reads ``retry-after-ms``, then ``retry-after`` in seconds (RFC 9110 10.2.3; fractions too) or
    as an HTTP date. Never negative; can be infinite, so whoever waits has to bound it.

    Args:
        headers: of the answer, names in lower case or case-insensitive.
        now: aware; what a date is measured from.
    """
    if "retry-after-ms" in headers:
        milliseconds = _not_negative(headers["retry-after-ms"])
        if milliseconds is not None:
            return milliseconds / 1000
    if "retry-after" not in headers:
        return None
    text = headers["retry-after"].strip()
    seconds = _not_negative(text)
    return _until(text, now) if seconds is None else seconds


def _not_negative(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) or value < 0 else value


def _until(text: str, now: datetime) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        # A date of zone "-0000" comes out naive, and means UTC (RFC 5322 3.3).
        aware = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        return max(0.0, (aware - now).total_seconds())
    except (ValueError, OverflowError):
        return None

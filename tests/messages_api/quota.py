"""A simulated quota of requests, with the rate-limit headers that the API sends on every answer."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class SimulatedQuota:
    """``requests`` in ``period_s``; used on one event loop."""

    requests: int
    period_s: float
    refills: bool = False
    """Bit by bit, as the API does; False: all at once, when a period is over."""
    _level: float = -1.0
    _at_s: float = 0.0
    """When the level was so; without refilling, when the period began."""

    def admit(self, now_s: float) -> bool:
        """Take one request, or refuse it; ``now_s`` only grows."""
        if self._level < 0:
            self._level, self._at_s = self.requests, now_s
        if self.refills:
            gained = (now_s - self._at_s) * self.requests / self.period_s
            self._level, self._at_s = min(self.requests, self._level + gained), now_s
        elif now_s - self._at_s >= self.period_s:
            self._level, self._at_s = self.requests, now_s
        if self._level < 1:
            return False
        self._level -= 1
        return True

    def headers(self, now_s: float, clock: datetime, *, admitted: bool) -> dict[str, str]:
        """Return what an answer says of the quota; ``clock`` is the server's, as it says it."""
        if self.refills:
            full_in_s = (self.requests - self._level) * self.period_s / self.requests
            again_in_s = (1 - self._level) * self.period_s / self.requests
        else:
            full_in_s = again_in_s = self._at_s + self.period_s - now_s
        reset = (clock + timedelta(seconds=full_in_s)).astimezone(UTC)
        said = {
            "anthropic-ratelimit-requests-limit": str(self.requests),
            "anthropic-ratelimit-requests-remaining": str(math.floor(self._level)),
            "anthropic-ratelimit-requests-reset": reset.isoformat(timespec="milliseconds"),
        }
        return said if admitted else said | {"retry-after": f"{max(0.0, again_in_s):.3f}"}

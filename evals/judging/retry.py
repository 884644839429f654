"""When a failed attempt is made again, and when its call is given up."""

from collections.abc import Callable
from dataclasses import dataclass

from evals.judging.transport import AttemptError


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and after how long.

    A *failure* (no connection, time-out, 408, 409, 5xx, no Message) is one call's: it is tried
    ``max_attempts`` times. The wait after failure k is drawn from the upper half of
    ``first_wait_s * 2 ** (k - 1)``, which ``longest_wait_s`` bounds; a longer ``retry-after`` is
    waited out instead. So with the default 8 attempts a call lives for 31 to 61 s of waiting, and 8
    times ``attempt_timeout_s`` at most of trying.

    A *refusal* (429, 529, and a failure that is everybody's: see ``evals.judging.outages``) says
    "not now", and counts as no attempt. A call that meets nothing else is tried for ``outage_s``,
    however often that is: after 10 minutes, the next refusal ends it. If by then no call of the run
    was answered in those 10 minutes, the run asks nothing more: a dead server ends it, and no case
    waits for 10 minutes of its own. In an outage one call at a time probes, at most
    ``longest_pause_s`` apart (see ``evals.judging.limiter``), or as far apart as the server asks.
    So the end comes at most one pause late, which ``longest_retry_after_s`` bounds at 5 minutes.
    """

    max_attempts: int
    """Failed HTTP attempts after which a call is given up, at least 1; refusals do not count."""
    attempt_timeout_s: float
    """Hard deadline of one attempt, from sending to the last byte."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    longest_pause_s: float = 4.0
    """Bound on the wait after a refusal where the server does not say how long."""
    longest_retry_after_s: float = 300.0
    """The longest wait that a server is believed: one that asks for more (``999999``, a date years
    ahead) is taken to have said nothing. Rate limits are per minute, so whoever means what he says
    is back within one; five leave room for a proxy that is restarted."""
    outage_s: float = 600.0
    """How long a call is refused before it is given up; the same for all calls together."""

    def wait_s(self, attempts: int, retry_after_s: float | None, chance: float) -> float:
        """Return the seconds to wait after ``attempts`` failed attempts.

        Args:
            attempts: failed so far, from 1.
            retry_after_s: what the server asked for; None where it did not.
            chance: jitter, 0 to 1.
        """
        backoff_s = min(self._doubled_s(attempts), self.longest_wait_s) * (0.5 + chance / 2)
        return max(backoff_s, self.asked_s(retry_after_s) or 0.0)

    def pause_s(self, refusals: int, chance: float) -> float:
        """Return the seconds to wait after a number of refusals in a row, from 1."""
        return min(self._doubled_s(refusals), self.longest_pause_s) * (0.5 + chance / 2)

    def asked_s(self, retry_after_s: float | None) -> float | None:
        """Return what the server asked for; None where it did not, or beyond belief."""
        if retry_after_s is None or retry_after_s > self.longest_retry_after_s:
            return None
        return retry_after_s

    def _doubled_s(self, times: int) -> float:
        # Doubling stops at 2 ** 32: far above any bound, and no overflow.
        return self.first_wait_s * 2.0 ** min(times - 1, 32)


class Tries:
    """What one call has met so far, and what follows from it."""

    def __init__(
        self, policy: RetryPolicy, clock: Callable[[], float], chance: Callable[[], float]
    ) -> None:
        """Start before the first attempt.

        Args:
            policy: how often, and after how long.
            clock: seconds that only grow.
            chance: jitter, 0 to 1.
        """
        self._policy = policy
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._refusals = 0
        self._refused_since_s = 0.0
        self._wait_s = 0.0
        self.made = 0
        """Attempts made, of whatever outcome."""
        self.under_way = False
        """Whether an attempt was begun of which nothing is known yet."""

    @property
    def wait_s(self) -> float:
        """Seconds until the next attempt."""
        return self._wait_s

    @property
    def failures(self) -> int:
        """Attempts that failed, and were not only put off."""
        return self._failures

    @property
    def are_over(self) -> bool:
        """Whether the call is given up."""
        if self._failures >= self._policy.max_attempts:
            return True
        refused_for_s = self._clock() - self._refused_since_s
        return self._refusals > 0 and refused_for_s >= self._policy.outage_s

    def meet(self, failure: AttemptError) -> None:
        """Take in how the last attempt failed."""
        policy = self._policy
        if failure.kind != "slow_down":
            self._failures += 1
            self._refusals = 0
            self._wait_s = policy.wait_s(self._failures, failure.retry_after_s, self._chance())
            return
        if self._refusals == 0:
            self._refused_since_s = self._clock()
        self._refusals += 1
        asked_s = policy.asked_s(failure.retry_after_s)
        self._wait_s = max(policy.pause_s(self._refusals, self._chance()), asked_s or 0.0)

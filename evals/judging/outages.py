"""Whose failure it is: one call's own, or everybody's.

A request that the server cannot digest fails again and again while all others are answered: it has
to be given up. When the network is gone, or the server behind it, every call fails: none of them
should be given up for that. The rule:

- until a first call of the run is answered every failure is the call's own, so that an address
  where nobody listens ends a run soon;
- from then on a connection that cannot be made is everybody's at once: it says nothing of what
  would have been sent over it;
- any other failure (5xx, a connection that breaks) may be the call's own. It is everybody's once
  nothing was answered for five seconds and three calls failed meanwhile. So one or two calls that
  fail alone, as at the end of a run, are given up; three look like an outage, and are waited for as
  long as one;
- a deadline that passed is always the call's own: it may be too short for this one. At 120 s, eight
  attempts outlast any outage that would be waited for.

What is everybody's counts as a refusal: see ``RetryPolicy``.
"""

from collections.abc import Callable

from evals.judging.transport import AttemptError

_SILENT_S = 5.0
"""By then a call has used up five attempts at most. A server that fails half of the calls at random
is hardly ever silent for so long, unless few are in flight."""
_CALLS = 3


class Outages:
    """Looks at the answers and failures of all calls of a run. Used on one event loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start before the first answer.

        Args:
            clock: seconds that only grow.
        """
        self._clock = clock
        self._answered_at_s: float | None = None
        self._failed: set[str] = set()
        """Calls that failed since the last answer; no more than matter."""

    def answered(self) -> None:
        """Note that a call was answered."""
        self._answered_at_s = self._clock()
        self._failed.clear()

    def is_everybodys(self, call: str, failure: AttemptError) -> bool:
        """Take in a failure of kind ``retry``, and tell whose it is.

        Args:
            call: what tells it from others.
            failure: what its attempt met.
        """
        if self._answered_at_s is None or failure.timed_out:
            return False
        if failure.unreachable:
            return True
        if len(self._failed) < _CALLS:
            self._failed.add(call)
        silent_s = self._clock() - self._answered_at_s
        return silent_s >= _SILENT_S and len(self._failed) >= _CALLS

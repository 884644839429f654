"""How many calls the server's quotas still take, from the rate-limit headers of its answers.

The rule: an answer says what is left of each quota and when the quota is full again (see
``evals.judging.headers``). Until then no more calls are begun than what is left is enough for:

- a request quota takes one for each call; a token quota what a call of this run has used on
  average so far (one token, until a call is answered);
- what is in flight and was begun after the call that was answered is taken off, since the server
  may not have counted it yet. So 3 left is never more than 3 begun;
- the answer to a later call replaces what was known, an earlier call's does not;
- when the quota is full again, its ``limit`` is what is left, until an answer says otherwise.

Nobody is held back while more is left than is ever in flight, so a large quota never slows a run.
A quota that is full already, or would be only after ``longest_hold_s`` (they are per minute), says
nothing and holds nobody. A server that refills bit by bit loses nothing by the wait: it refills
meanwhile.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

from evals.judging.headers import QuotaKind, QuotaLeft

_PERIOD_S = 60.0
"""Every quota is per minute: what a full one is good for, until an answer says otherwise."""


@dataclass
class _Known:
    calls: int
    """That may be begun until ``until_s``; below 1: none."""
    until_s: float
    full_calls: int | None
    """What a full quota is enough for; None where the server does not say."""
    told_by: int


class Quotas:
    """What is known of the quotas of one server. Used on one event loop."""

    def __init__(self, longest_hold_s: float, clock: Callable[[], float]) -> None:
        """Know nothing yet.

        Args:
            longest_hold_s: a quota that is full only later than this is not believed.
            clock: seconds that only grow.
        """
        self._longest_hold_s = longest_hold_s
        self._clock = clock
        self._known: dict[QuotaKind, _Known] = {}
        self._in_flight: set[int] = set()
        self._begun = 0
        self._answered = 0
        self._used: dict[QuotaKind, int] = dict.fromkeys(get_args(QuotaKind), 0)

    @property
    def begun(self) -> int:
        """Calls begun; the number of the last one."""
        return self._begun

    @property
    def in_flight(self) -> int:
        """Calls begun and not ended."""
        return len(self._in_flight)

    def hold_s(self) -> float:
        """Return the seconds until one more call may be begun; 0: now. From any thread."""
        now_s = self._clock()
        waits_s = [known.until_s - now_s for known in list(self._known.values()) if known.calls < 1]
        return max([0.0, *waits_s])

    def begin(self) -> int:
        """Count a call as begun; return its number, from 1."""
        self._refill()
        self._begun += 1
        self._in_flight.add(self._begun)
        for known in self._known.values():
            known.calls -= 1
        return self._begun

    def end(self, number: int) -> None:
        """Count a call as ended, answered or not."""
        self._in_flight.discard(number)

    def count_tokens(self, *, input_tokens: int, output_tokens: int) -> None:
        """Count what an answered call used of the token quotas; cache reads use nothing."""
        self._answered += 1
        self._used["tokens"] += input_tokens + output_tokens
        self._used["input-tokens"] += input_tokens
        self._used["output-tokens"] += output_tokens

    def hear(self, number: int, left: Sequence[QuotaLeft]) -> None:
        """Take in what the answer to a call says, be it a refusal or not.

        Args:
            number: of the call.
            left: what its answer says is left.
        """
        if not left:
            return
        later = sum(other > number for other in self._in_flight)
        for quota in left:
            known = self._known.get(quota.kind)
            if known is None or number > known.told_by:
                self._learn(number, quota, later)

    def _refill(self) -> None:
        now_s = self._clock()
        for kind, known in list(self._known.items()):
            if known.until_s > now_s:
                continue
            if known.full_calls is None:
                del self._known[kind]
            else:
                known.calls, known.until_s = known.full_calls, now_s + _PERIOD_S

    def _learn(self, number: int, quota: QuotaLeft, later: int) -> None:
        if not 0 < quota.reset_in_s <= self._longest_hold_s:
            self._known.pop(quota.kind, None)
            return
        need = self._need(quota.kind)
        self._known[quota.kind] = _Known(
            calls=quota.remaining // need - later,
            until_s=self._clock() + quota.reset_in_s,
            full_calls=None if quota.limit is None else max(1, quota.limit // need),
            told_by=number,
        )

    def _need(self, kind: QuotaKind) -> int:
        """Return what one call takes, as far as is known."""
        if kind == "requests" or not self._answered:
            return 1
        return max(1, math.ceil(self._used[kind] / self._answered))

"""An importance-weighted share (3.1): what coverage and the composite are stated in."""

import math
from array import array
from collections.abc import Iterable, Sequence

from evals.metrics import BOOTSTRAP_RESAMPLES, BOOTSTRAP_SEED
from evals.records import Record

WeightedFact = tuple[float, float | None]
"""(weight, credit): credit is 0 to 1, None for a fact without a verdict."""


class Share(Record):
    """A weighted share of facts, with its 95 % interval."""

    value: float | None
    """``earned / weight``, 0 to 1; None at weight 0, and where the facts without a verdict make
    it no estimate (``evals.composite``)."""
    earned: float
    """Sum of weight times credit over judged facts."""
    weight: float
    """Sum of the weights of judged facts: the denominator."""
    n: int
    """Judged facts with a weight over 0."""
    unjudged: int
    """Facts with a weight over 0 that are left out because there is no verdict."""
    windows: int
    """Windows that the judged facts come from: what the interval resamples."""
    unjudged_windows: int
    """Windows without any facts because their gold is unjudged: how many facts they would have
    had is not known, so they are in none of the other counts."""
    low: float | None
    """Percentile bootstrap over windows, whose facts share their calls and so stand or fall
    together (Efron 1979); None below two windows, and where ``value`` is."""
    high: float | None


class ShareFold:
    """A ``Share`` in the making, window by window: two numbers of each are kept."""

    def __init__(self, unjudged_windows: int = 0) -> None:
        """Start with windows whose gold is unjudged alone."""
        self._weights, self._earned = array("d"), array("d")
        self._n = self._unjudged = 0
        self._unjudged_windows = unjudged_windows

    def add(self, facts: Iterable[WeightedFact] | None) -> None:
        """Take the facts of one window; None for a window whose gold is unjudged.

        Facts of weight 0 count nowhere. The order of windows and facts does not matter.
        """
        if facts is None:
            self._unjudged_windows += 1
            return
        weighty = [fact for fact in facts if fact[0] > 0]
        judged = [(weight, credit) for weight, credit in weighty if credit is not None]
        self._n += len(judged)
        self._unjudged += len(weighty) - len(judged)
        if judged:
            self._weights.append(math.fsum(weight for weight, _ in judged))
            self._earned.append(math.fsum(weight * credit for weight, credit in judged))

    def result(self) -> Share:
        """Return the weighted share of the facts of all windows."""
        # Sorted: neither the rounding of a sum nor the resampling may depend on the order of rows.
        totals = sorted(zip(self._weights, self._earned, strict=True))
        weight = math.fsum(one for one, _ in totals)
        earned = math.fsum(one for _, one in totals)
        low, high = _interval(totals)
        return Share(
            value=earned / weight if weight else None,
            earned=earned,
            weight=weight,
            n=self._n,
            unjudged=self._unjudged,
            windows=len(totals),
            unjudged_windows=self._unjudged_windows,
            low=low,
            high=high,
        )


def share_of(windows: Iterable[Iterable[WeightedFact] | None]) -> Share:
    """Return the weighted share of the facts of several windows, as ``ShareFold`` takes them."""
    fold = ShareFold()
    for facts in windows:
        fold.add(facts)
    return fold.result()


def _interval(totals: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    if len(totals) < 2:  # noqa: PLR2004  one window has no spread to resample
        return None, None
    import numpy as np  # noqa: PLC0415  only where a metric is made

    weights, earned = np.asarray(totals).T
    # How often each window is drawn, resample by resample.
    rng = np.random.default_rng(BOOTSTRAP_SEED)  # the same rows give the same page
    even = np.full(len(totals), 1 / len(totals))
    shares: list[float] = []
    while len(shares) < BOOTSTRAP_RESAMPLES:
        size = min(BOOTSTRAP_RESAMPLES - len(shares), max(1, 2_000_000 // len(totals)))
        drawn = rng.multinomial(len(totals), even, size=size)  # bounded memory at any n
        shares.extend((drawn @ earned) / (drawn @ weights))
    low, high = np.percentile(shares, [2.5, 97.5])
    return float(low), float(high)

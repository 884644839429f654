"""An importance-weighted share (3.1): what coverage and the composite are stated in."""

import math
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


def share_of(windows: Iterable[Sequence[WeightedFact] | None]) -> Share:
    """Return the weighted share of the facts of several windows.

    Args:
        windows: the facts of each window; None for a window whose gold is unjudged. Facts of weight
            0 count nowhere. The order of windows and facts does not matter.
    """
    listed = list(windows)
    weighty = [[fact for fact in facts if fact[0] > 0] for facts in listed if facts is not None]
    judged = [
        [(weight, credit) for weight, credit in facts if credit is not None] for facts in weighty
    ]
    # Sorted: neither the rounding of a sum nor the resampling may depend on the order of rows.
    totals = sorted(
        (
            math.fsum(weight for weight, _ in facts),
            math.fsum(weight * credit for weight, credit in facts),
        )
        for facts in judged
        if facts
    )
    weight = math.fsum(one for one, _ in totals)
    earned = math.fsum(one for _, one in totals)
    n = sum(map(len, judged))
    low, high = _interval(totals)
    return Share(
        value=earned / weight if weight else None,
        earned=earned,
        weight=weight,
        n=n,
        unjudged=sum(map(len, weighty)) - n,
        windows=len(totals),
        unjudged_windows=sum(facts is None for facts in listed),
        low=low,
        high=high,
    )


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

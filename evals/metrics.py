"""The three figures that every metric is made of; each carries what it was counted over.

Source of the intervals: Wilson (1927) for rates; percentile bootstrap (Efron 1979) for means.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from evals.records import Record

BOOTSTRAP_RESAMPLES = 2000
BOOTSTRAP_SEED = 20260101


class Rate(Record):
    """A share of judged items, with its 95 % Wilson interval."""

    hits: int
    n: int
    """Judged items: the denominator."""
    unjudged: int
    """Items left out of ``n`` because there is no verdict."""
    value: float | None
    """``hits / n``, 0 to 1; None at n = 0."""
    low: float | None
    high: float | None


class Mean(Record):
    """A mean over judged items, with its 95 % bootstrap interval."""

    n: int
    unjudged: int
    value: float | None
    """None at n = 0."""
    low: float | None
    """None below n = 2."""
    high: float | None


class Histogram(Record):
    """Exact counts of strings over ``n`` judged items."""

    counts: dict[str, int]
    """Most frequent first, then by name."""
    n: int
    unjudged: int


def load_statistics() -> None:
    """Import what the intervals are made with (half a second), before the first is wanted."""
    import numpy as np  # noqa: F401, PLC0415
    import scipy.stats  # noqa: F401, PLC0415


def rate_of(outcomes: Iterable[bool | None]) -> Rate:
    """Return the share of True; None stands for an unjudged item."""
    from scipy.stats import binomtest  # noqa: PLC0415  a second, only where a metric is made

    listed = list(outcomes)
    judged = [outcome for outcome in listed if outcome is not None]
    hits, n = sum(judged), len(judged)
    unjudged = len(listed) - n
    if n == 0:
        return Rate(hits=0, n=0, unjudged=unjudged, value=None, low=None, high=None)
    interval = binomtest(hits, n).proportion_ci(method="wilson")
    return Rate(
        hits=hits,
        n=n,
        unjudged=unjudged,
        value=hits / n,
        low=float(interval.low),
        high=float(interval.high),
    )


def mean_of(values: Iterable[float | None]) -> Mean:
    """Return the mean; None stands for an unjudged item."""
    listed = list(values)
    # Sorted: neither the rounding of the sum nor the resampling may depend on the order of rows.
    judged = sorted(value for value in listed if value is not None)
    n = len(judged)
    unjudged = len(listed) - n
    if n == 0:
        return Mean(n=0, unjudged=unjudged, value=None, low=None, high=None)
    low, high = _bootstrap(judged)
    return Mean(n=n, unjudged=unjudged, value=math.fsum(judged) / n, low=low, high=high)


def histogram_of(groups: Iterable[Sequence[str] | None]) -> Histogram:
    """Return the counts of all strings; one group an item, None for an unjudged item."""
    listed = list(groups)
    judged = [group for group in listed if group is not None]
    counted = Counter(text for group in judged for text in group)
    ordered = dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))
    return Histogram(counts=ordered, n=len(judged), unjudged=len(listed) - len(judged))


def _bootstrap(values: Sequence[float]) -> tuple[float | None, float | None]:
    if len(values) < 2:  # noqa: PLR2004  one value has no spread to resample
        return None, None
    if min(values) == max(values):  # every resample is the same
        return values[0], values[0]
    import numpy as np  # noqa: PLC0415
    from scipy.stats import bootstrap  # noqa: PLC0415

    result = bootstrap(
        (np.asarray(values),),
        np.mean,
        n_resamples=BOOTSTRAP_RESAMPLES,
        batch=max(1, 2_000_000 // len(values)),  # bounded memory at any n
        method="percentile",
        rng=np.random.default_rng(BOOTSTRAP_SEED),  # the same rows give the same page
    )
    interval = result.confidence_interval
    return float(interval.low), float(interval.high)

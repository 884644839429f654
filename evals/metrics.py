"""The three figures that every metric is made of; each carries what it was counted over.

Source of the intervals: Wilson (1927) for rates; percentile bootstrap (Efron 1979) for means.
"""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, Generic, Protocol, TypeVar

from evals.records import Record

ItemT = TypeVar("ItemT")

BOOTSTRAP_RESAMPLES = 2000
BOOTSTRAP_SEED = 20260101
_BATCH_DRAWS = 2_000_000
"""Draws held at once: bounded memory at any n."""
_Z = NormalDist().inv_cdf(0.975)
"""95 % of a normal distribution lie within this many standard deviations."""


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
    """Import what the intervals are made with (a tenth of a second), before one is wanted."""
    import numpy as np  # noqa: F401, PLC0415


class RateFold:
    """A ``Rate`` in the making, outcome by outcome: none of them is kept."""

    def __init__(self) -> None:
        """Start without any."""
        self._hits = self._n = self._unjudged = 0

    def add(self, outcome: bool | None) -> None:  # noqa: FBT001  the outcome is the value
        """Take one outcome; None stands for an unjudged item."""
        if outcome is None:
            self._unjudged += 1
        else:
            self._n += 1
            self._hits += outcome

    def result(self) -> Rate:
        """Return the share of True."""
        hits, n, unjudged = self._hits, self._n, self._unjudged
        if n == 0:
            return Rate(hits=0, n=0, unjudged=unjudged, value=None, low=None, high=None)
        low, high = _wilson(hits, n)
        return Rate(hits=hits, n=n, unjudged=unjudged, value=hits / n, low=low, high=high)


class MeanFold:
    """A ``Mean`` in the making, value by value: eight bytes of each are kept."""

    def __init__(self) -> None:
        """Start without any."""
        self._judged = array("d")
        self._unjudged = 0

    def add(self, value: float | None) -> None:
        """Take one value; None stands for an unjudged item."""
        if value is None:
            self._unjudged += 1
        else:
            self._judged.append(value)

    def result(self) -> Mean:
        """Return the mean."""
        # Sorted: neither the rounding of the sum nor the resampling may depend on the order of
        # rows.
        judged = sorted(self._judged)
        n, unjudged = len(judged), self._unjudged
        if n == 0:
            return Mean(n=0, unjudged=unjudged, value=None, low=None, high=None)
        low, high = _bootstrap(judged)
        return Mean(n=n, unjudged=unjudged, value=math.fsum(judged) / n, low=low, high=high)


class HistogramFold:
    """A ``Histogram`` in the making, item by item: what is kept is one count a string."""

    def __init__(self) -> None:
        """Start without any."""
        self._counted: Counter[str] = Counter()
        self._n = self._unjudged = 0

    def add(self, group: Sequence[str] | None) -> None:
        """Take the strings of one item; None stands for an unjudged item."""
        if group is None:
            self._unjudged += 1
        else:
            self._n += 1
            self._counted.update(group)

    def result(self) -> Histogram:
        """Return the counts of all strings."""
        ordered = dict(sorted(self._counted.items(), key=lambda pair: (-pair[1], pair[0])))
        return Histogram(counts=ordered, n=self._n, unjudged=self._unjudged)


class _Fold(Protocol):
    def add(self, value: Any, /) -> None: ...

    def result(self) -> Record: ...


class Tally(Generic[ItemT]):
    """Several figures over the same items, each of which is seen once and not kept."""

    def __init__(
        self,
        *,
        rates: Mapping[str, Callable[[ItemT], bool | None]] | None = None,
        means: Mapping[str, Callable[[ItemT], float | None]] | None = None,
        histograms: Mapping[str, Callable[[ItemT], Sequence[str] | None]] | None = None,
    ) -> None:
        """Take what each figure is made of: its name -> an item's value, None where unjudged."""
        self._folds: list[tuple[str, Callable[[ItemT], Any], _Fold]] = [
            *((name, of, RateFold()) for name, of in (rates or {}).items()),
            *((name, of, MeanFold()) for name, of in (means or {}).items()),
            *((name, of, HistogramFold()) for name, of in (histograms or {}).items()),
        ]

    def add(self, item: ItemT) -> None:
        """Take one item into every figure."""
        for _, of, fold in self._folds:
            fold.add(of(item))

    def figures(self) -> dict[str, Record]:
        """Return every figure by its name."""
        return {name: fold.result() for name, _, fold in self._folds}


def rate_of(outcomes: Iterable[bool | None]) -> Rate:
    """Return the share of True; None stands for an unjudged item."""
    fold = RateFold()
    for outcome in outcomes:
        fold.add(outcome)
    return fold.result()


def mean_of(values: Iterable[float | None]) -> Mean:
    """Return the mean; None stands for an unjudged item."""
    fold = MeanFold()
    for value in values:
        fold.add(value)
    return fold.result()


def histogram_of(groups: Iterable[Sequence[str] | None]) -> Histogram:
    """Return the counts of all strings; one group an item, None for an unjudged item."""
    fold = HistogramFold()
    for group in groups:
        fold.add(group)
    return fold.result()


# Both intervals are spelled out and held against scipy's by the tests: importing scipy.stats would
# cost every run more than all its metrics.
def _wilson(hits: int, n: int) -> tuple[float, float]:
    share, scale = hits / n, 1 + _Z**2 / n
    centre = (share + _Z**2 / (2 * n)) / scale
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / scale
    # Exact at the ends, where rounding could leave a trace beyond them.
    return (0.0 if hits == 0 else centre - half), (1.0 if hits == n else centre + half)


def _bootstrap(values: Sequence[float]) -> tuple[float | None, float | None]:
    n = len(values)
    if n < 2:  # noqa: PLR2004  one value has no spread to resample
        return None, None
    if min(values) == max(values):  # every resample is the same
        return values[0], values[0]
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(BOOTSTRAP_SEED)  # the same rows give the same page
    sample = np.asarray(values)
    batch = max(1, _BATCH_DRAWS // n)
    means = np.concatenate(
        [
            sample[rng.integers(0, n, (min(batch, BOOTSTRAP_RESAMPLES - done), n))].mean(axis=1)
            for done in range(0, BOOTSTRAP_RESAMPLES, batch)
        ]
    )
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)

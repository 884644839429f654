"""Rates, means and histograms, against numbers worked out by hand."""

import random
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap

from evals.metrics import BOOTSTRAP_RESAMPLES, BOOTSTRAP_SEED, histogram_of, mean_of, rate_of


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        (41, 50, 0.6920, 0.9023),
        (5, 10, 0.2366, 0.7634),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (0, 1, 0.0, 0.7935),
    ],
)
def test_a_rate_has_a_wilson_interval(hits: int, n: int, low: float, high: float) -> None:
    rate = rate_of([True] * hits + [False] * (n - hits))
    assert (rate.hits, rate.n, rate.unjudged) == (hits, n, 0)
    assert rate.value == hits / n
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_of_a_rate_is_scipys() -> None:
    for n in (1, 2, 3, 10, 57, 1000, 100_000):
        for hits in {0, 1, n // 3, n // 2, n - 1, n}:
            rate = rate_of([True] * hits + [False] * (n - hits))
            wanted = binomtest(hits, n).proportion_ci(method="wilson")
            assert (rate.low, rate.high) == pytest.approx((wanted.low, wanted.high), abs=1e-14)
            assert rate.low is not None
            assert rate.high is not None
            assert 0 <= rate.low <= hits / n <= rate.high <= 1


@pytest.mark.parametrize("n", [2, 3, 28, 500, 1500, 5000])
def test_the_interval_of_a_mean_is_scipys(n: int) -> None:
    draw = random.Random(n)
    values = sorted(draw.random() for _ in range(n))
    wanted = bootstrap(
        (values,),
        np.mean,
        n_resamples=BOOTSTRAP_RESAMPLES,
        batch=max(1, 2_000_000 // n),
        method="percentile",
        rng=np.random.default_rng(BOOTSTRAP_SEED),
    ).confidence_interval
    mean = mean_of(values)
    assert (mean.low, mean.high) == pytest.approx((wanted.low, wanted.high), abs=1e-14)


def test_unjudged_items_are_in_no_denominator() -> None:
    rate = rate_of(iter([True, None, False, None, None]))
    assert (rate.hits, rate.n, rate.unjudged, rate.value) == (1, 2, 3, 0.5)
    mean = mean_of(iter([0.25, None, 0.75]))
    assert (mean.value, mean.n, mean.unjudged) == (0.5, 2, 1)


@pytest.mark.parametrize("unjudged", [0, 3])
def test_nothing_judged_gives_null_and_not_zero(unjudged: int) -> None:
    rate, mean = rate_of([None] * unjudged), mean_of([None] * unjudged)
    assert (rate.hits, rate.n, rate.unjudged) == (0, 0, unjudged)
    assert (rate.value, rate.low, rate.high) == (None, None, None)
    assert (mean.n, mean.unjudged) == (0, unjudged)
    assert (mean.value, mean.low, mean.high) == (None, None, None)


def test_one_value_has_a_mean_and_no_interval() -> None:
    mean = mean_of([0.3])
    assert (mean.value, mean.n, mean.low, mean.high) == (0.3, 1, None, None)


def test_equal_values_have_an_interval_of_no_width() -> None:
    mean = mean_of([0.5] * 9)
    assert (mean.value, mean.low, mean.high) == (0.5, 0.5, 0.5)


def test_a_mean_has_a_bootstrap_interval_of_the_right_width() -> None:
    # 100 values, half 0 and half 1: the mean's standard error is 0.05, so about 0.5 ± 0.098.
    mean = mean_of([0.0, 1.0] * 50)
    assert mean.value == 0.5
    assert mean.low == pytest.approx(0.402, abs=0.02)
    assert mean.high == pytest.approx(0.598, abs=0.02)


def test_a_zero_is_a_value() -> None:
    assert (mean_of([0.0, 0.0]).value, mean_of([0.0, 0.0]).n) == (0.0, 2)
    assert rate_of([False]).value == 0.0


def test_the_order_of_values_does_not_matter() -> None:
    rng = random.Random(3)
    values = [rng.random() for _ in range(200)]
    wanted = mean_of(values)
    for _ in range(5):
        rng.shuffle(values)
        assert mean_of(values) == wanted


def test_a_histogram_counts_strings_most_frequent_first() -> None:
    histogram = histogram_of(iter([["b", "a"], None, ["b", "b"], [], ["c"], ("a",)]))
    assert list(histogram.counts.items()) == [("b", 3), ("a", 2), ("c", 1)]
    assert (histogram.n, histogram.unjudged) == (5, 1)


def test_labels_are_counted_as_they_stand() -> None:
    histogram = histogram_of([["Vague", "vague", "vague "], ["vague"]])
    assert histogram.counts == {"vague": 2, "Vague": 1, "vague ": 1}


def test_numpy_is_imported_only_where_a_metric_is_made() -> None:
    code = (
        "import sys, evals.premise.metrics, evals.premise.case; "
        "print('scipy' in sys.modules, 'numpy' in sys.modules, 'anthropic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]

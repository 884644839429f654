# ruff: noqa: RUF001  the en dash is meant
from datetime import UTC, datetime, timedelta

import pytest

from evals.coverage.share import WeightedFact, share_of
from evals.metrics import Mean, Rate, mean_of, rate_of
from evals.report import numbers


def rate(hits: int, n: int, unjudged: int = 0) -> Rate:
    return rate_of([True] * hits + [False] * (n - hits) + [None] * unjudged)


def test_a_rate_carries_share_counts_interval_and_unjudged() -> None:
    assert numbers.rate_text(rate(41, 50, 2)) == "82.0 % (41/50), 95 % 69.2–90.2 %, 2 unjudged"


def test_a_rate_over_nothing_is_a_dash_and_never_a_zero() -> None:
    assert numbers.rate_text(rate(0, 0, 7)) == "– (n 0), 7 unjudged"
    assert numbers.rate_value(rate(0, 0)) == "–"


def test_a_rate_of_zero_hits_is_a_zero_with_its_denominator() -> None:
    assert numbers.rate_text(rate(0, 20)) == "0.0 % (0/20), 95 % 0.0–16.1 %, 0 unjudged"


def test_the_unjudged_share_does_not_say_unjudged_of_itself() -> None:
    share = numbers.rate_text(rate(0, 28), is_unjudged_share=True)
    assert share == "0.0 % (0/28), 95 % 0.0–12.1 %"
    assert numbers.rate_parts(rate(0, 0), is_unjudged_share=True) == ["n 0"]


def test_a_mean_carries_n_interval_and_unjudged() -> None:
    mean = Mean(n=24, unjudged=3, value=0.7449, low=0.66, high=0.814)
    assert numbers.mean_text(mean) == "0.74 (n 24), 95 % 0.66–0.81, 3 unjudged"


def test_a_mean_of_one_has_no_interval() -> None:
    assert numbers.mean_text(mean_of([0.5])) == "0.50 (n 1), 0 unjudged"


def test_a_mean_over_nothing_is_a_dash() -> None:
    assert numbers.mean_text(mean_of([None, None])) == "– (n 0), 2 unjudged"


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (1, 1, "100.0 %"),
        (0, 3, "0.0 %"),
        (1, 3, "33.3 %"),
        (9_999, 10_000, "> 99.9 %"),
        (1, 10_000, "< 0.1 %"),
        (1, 0, "–"),
    ],
)
def test_rounding_never_makes_a_share_look_complete_or_empty(
    part: int, whole: int, text: str
) -> None:
    assert numbers.percent(part, whole) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (42.4, "42 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.7, "1 h 00 min"),
        (3_720, "1 h 02 min"),
        (360_000, "100 h 00 min"),
    ],
)
def test_a_duration_reads_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert numbers.duration(timedelta(seconds=seconds)) == text


def test_counts_are_grouped_and_nouns_agree() -> None:
    assert numbers.count(1_234_567) == "1,234,567"
    assert numbers.counted(1, "call") == "1 call"
    assert numbers.counted(0, "call") == "0 calls"
    assert numbers.counted(2, "answer without a count", "answers without a count") == (
        "2 answers without a count"
    )


def test_a_share_says_both_numbers_and_no_percentage_of_nothing() -> None:
    assert numbers.share_of(12, 20) == "12 of 20 (60.0 %)"
    assert numbers.share_of(0, 0) == "0 of 0"


def test_a_count_table_is_ordered_by_size_then_name() -> None:
    assert numbers.counts_text({"b": 1, "c": 3, "a": 1}) == "c 3, a 1, b 1"
    assert numbers.counts_text({}) == "none"


def test_a_moment_states_its_zone_only_where_it_has_one() -> None:
    naive = datetime(2023, 5, 8, 13, 56)  # noqa: DTZ001  a trace without zones is the point
    assert numbers.moment(naive) == "2023-05-08 13:56:00"
    assert numbers.moment(naive.replace(tzinfo=UTC)) == "2023-05-08 13:56:00 UTC"
    assert numbers.moment(None) == "–"


def test_a_gate_value_keeps_the_digits_that_decide_it() -> None:
    assert numbers.metric_value(0.79999) == "0.79999"
    assert numbers.metric_value(None) == "–"


ONE_WINDOW: list[list[WeightedFact] | None] = [[(20, 1), (10, 0.5), (10, 0), (2, None)]]


def test_a_weighted_share_carries_weights_facts_interval_and_unjudged() -> None:
    share = share_of([[(20, 1)] * 2, [(4, 0.5), (4, None)], None])
    assert numbers.share_text(share) == (
        "95.5 % (weight 42 of 44, 3 facts), 95 % 50.0–100.0 %, 1 unjudged, 1 window without gold"
    )


def test_a_weighted_share_of_one_window_has_no_interval() -> None:
    assert numbers.share_text(share_of(ONE_WINDOW)) == (
        "62.5 % (weight 25 of 40, 3 facts), 1 unjudged"
    )
    assert numbers.share_brief(share_of(ONE_WINDOW)) == (
        "62.5 % (weight 25 of 40, 3 facts), 1 unjudged"
    )


@pytest.mark.parametrize(
    ("windows", "text"),
    [
        ([], "– (0 facts), 0 unjudged"),
        ([[(4, None), (0, 1)]], "– (0 facts), 1 unjudged"),
        ([None, None], "– (0 facts), 0 unjudged, 2 windows without gold"),
    ],
)
def test_a_weighted_share_over_nothing_is_a_dash_and_never_a_zero(
    windows: list[list[WeightedFact] | None], text: str
) -> None:
    assert numbers.share_text(share_of(windows)) == text


def test_a_weighted_share_of_zero_is_a_zero_with_its_weight() -> None:
    assert numbers.share_text(share_of([[(4, 0)]])) == "0.0 % (weight 0 of 4, 1 fact), 0 unjudged"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (25, "25"), (100, "100"), (1204.5, "1,204.5"), (1 / 3, "0.33")]
)
def test_a_weight_is_written_without_needless_digits(value: float, text: str) -> None:
    assert numbers.weight(value) == text

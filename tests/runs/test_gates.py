from collections.abc import Callable, Iterator
from typing import cast

import pytest

from evals.coverage.share import Share
from evals.errors import ConfigError
from evals.metrics import Mean, Rate
from evals.premise.metrics import PremiseSummary
from evals.premise.row import ConclusionRow
from evals.records import Record
from evals.runs import summary as summary_module
from evals.runs.gates import check_gates, parse_gate, parse_gates
from evals.runs.summary import (
    METRIC_KINDS,
    SUMMARIES,
    RunSummary,
    figures,
    gateable_metrics,
    metric_of,
    summarize,
)

MakeRow = Callable[..., ConclusionRow]


@pytest.fixture
def four_of_five(make_row: MakeRow) -> RunSummary:
    """Four sound, one unsound, one unjudged."""
    outcomes = [True, True, True, True, False, None]
    return summarize([make_row(n, sound=sound) for n, sound in enumerate(outcomes)])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass_rate >= 0.8", "pass_rate >= 0.8"),
        ("pass_rate>=0.8", "pass_rate >= 0.8"),
        ("  unjudged_share  <=  .02 ", "unjudged_share <= 0.02"),
        ("bundled_rate < 1", "bundled_rate < 1.0"),
        ("mean_decontextuality > 0", "mean_decontextuality > 0.0"),
        ("bad_timestamp_rate == 0.", "bad_timestamp_rate == 0.0"),
        ("mean_molecular >= -1", "mean_molecular >= -1.0"),
    ],
)
def test_a_gate_is_metric_operator_number(text: str, shown: str) -> None:
    assert str(parse_gate(text)) == shown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "another form"),
        ("pass_rate", "another form"),
        (">= 0.8", "another form"),
        ("pass_rate 0.8", "another form"),
        ("pass_rate >=", "another form"),
        ("pass rate >= 0.8", "another form"),
        ("pass_rate => 0.8", "the operator '=>'"),
        ("pass_rate = 0.8", "the operator '='"),
        ("pass_rate != 0.8", "the operator '!='"),
        ("pass_rate >= 80%", "'80%' where the number belongs"),
        ("pass_rate >= nan", "'nan' where the number belongs"),
        ("pass_rate >= inf", "'inf' where the number belongs"),
        ("pass_rate >= 1e-1", "'1e-1' where the number belongs"),
        ("pass_rate >= 0,8", "'0,8' where the number belongs"),
        ("pass_rate >= \u0660.\u0668", "'\u0660.\u0668' where the number belongs"),
        ("pass_rate >= 0.8 and", "'0.8 and' where the number belongs"),
        ("pass_rate >= 80", "the threshold 80"),
        ("unjudged_share <= -0.1", "the threshold -0.1"),
        ("pass_rates >= 0.8", "the metric pass_rates"),
    ],
)
def test_anything_else_is_refused_with_what_was_found(text: str, found: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_gate(text)
    assert caught.value.found == found
    assert caught.value.where == f"gate {text.strip()!r}"


def test_an_unknown_metric_is_answered_with_the_closest_and_the_list() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_gate("decontextuality_mean >= 0.5")
    assert "Did you mean mean_decontextuality?" in caught.value.todo
    assert "bad_timestamp_rate, bundled_rate" in caught.value.wanted


def test_control_characters_of_a_gate_do_not_reach_the_terminal() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_gate("\x1b[2Jx >= 0.5")
    assert "\x1b" not in str(caught.value)


def test_several_gates_keep_their_order() -> None:
    gates = parse_gates(["pass_rate >= 0.5", "bundled_rate <= 0.5"])
    assert [gate.metric for gate in gates] == ["pass_rate", "bundled_rate"]


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("pass_rate >= 0.8", True),
        ("pass_rate <= 0.8", True),
        ("pass_rate == 0.8", True),
        ("pass_rate > 0.8", False),
        ("pass_rate < 0.8", False),
        ("pass_rate >= 0.81", False),
        ("pass_rate <= 0.79", False),
        ("pass_rate == 0.9", False),
        ("pass_rate > 0.79", True),
        ("pass_rate < 0.81", True),
    ],
)
def test_a_gate_compares_the_metric_with_its_threshold(
    four_of_five: RunSummary, text: str, *, passed: bool
) -> None:
    (result,) = check_gates([parse_gate(text)], four_of_five)
    assert (result.passed, result.metric_value, result.gate) == (passed, 0.8, text)
    assert result.why == f"pass_rate is 0.8, {'as wanted' if passed else 'which falls short'}"


@pytest.mark.parametrize("sign", [">=", "<=", ">", "<", "=="])
def test_a_null_metric_fails_whatever_the_operator(make_row: MakeRow, sign: str) -> None:
    summary = summarize([make_row(n, sound=None) for n in range(3)])
    (result,) = check_gates([parse_gate(f"pass_rate {sign} 0")], summary)
    assert (result.passed, result.metric_value) == (False, None)
    assert result.why == "pass_rate is null: 3 unjudged"


def test_a_gate_on_an_instrument_that_did_not_run_fails() -> None:
    (result,) = check_gates([parse_gate("pass_rate >= 0")], summarize([]))
    assert not result.passed
    assert result.why == "pass_rate is null: the run has no premise rows"


def test_every_rate_and_mean_of_the_summary_can_be_gated() -> None:
    assert sorted(gateable_metrics()) == [
        "bad_timestamp_rate",
        "bundled_rate",
        "contradictions_per_window",
        "coverage_explicit",
        "coverage_implicit",
        "coverage_unjudged_share",
        "mean_decontextuality",
        "mean_minimality",
        "mean_molecular",
        "pass_rate",
        "qa_answerable_correct_rate",
        "qa_answerable_wrong_rate",
        "qa_unanswerable_rate",
        "quality_coverage",
        "quality_coverage_best",
        "quality_coverage_implicit",
        "quality_coverage_worst",
        "redundancy_rate",
        "set_level_unjudged_share",
        "string_redundancy_rate",
        "token_range_rate",
        "trivial_skipped_rate",
        "unjudged_share",
    ]
    assert gateable_metrics()["pass_rate"] == ("premise", Rate)
    assert gateable_metrics()["mean_molecular"] == ("premise", Mean)
    assert gateable_metrics()["quality_coverage"] == ("composite", Share)
    assert gateable_metrics()["redundancy_rate"] == ("set_level", Rate)


def test_figures_are_the_values_and_null_where_nothing_was_judged(
    four_of_five: RunSummary,
) -> None:
    values = figures(four_of_five)
    assert values["pass_rate"] == pytest.approx(4 / 5)
    assert values["mean_decontextuality"] == pytest.approx((4 * 0.9 + 0.3) / 5)
    assert values["unjudged_share"] == pytest.approx(1 / 6)
    assert values["mean_minimality"] is None
    assert set(figures(summarize([])).values()) == {None}


def test_a_metric_carries_its_denominator(four_of_five: RunSummary) -> None:
    metric = metric_of(four_of_five, "pass_rate")
    assert isinstance(metric, Rate)
    assert (metric.hits, metric.n, metric.unjudged) == (4, 5, 1)


def test_the_order_of_the_rows_does_not_matter(make_row: MakeRow) -> None:
    rows = [make_row(n, sound=sound) for n, sound in enumerate([True, False, None, True])]
    assert summarize(rows) == summarize(rows[::-1])


def test_no_rows_make_a_summary_of_nothing() -> None:
    assert summarize([]).premise is None


def test_every_part_of_the_summary_has_what_makes_it() -> None:
    assert set(SUMMARIES) == set(RunSummary.model_fields)


class Weighted(Record):
    """A kind of figure of another instrument."""

    value: float | None
    unjudged: int


class OtherSummary(Record):
    """The summary of another instrument."""

    coverage: Weighted
    not_a_figure: int


class BothSummaries(RunSummary):
    """A run of two instruments."""

    premise: PremiseSummary | None
    other: OtherSummary | None


@pytest.fixture
def another_instrument(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One field, and one entry in each of two tables."""
    monkeypatch.setattr(summary_module, "RunSummary", BothSummaries)
    kinds = cast("dict[object, bool]", METRIC_KINDS)
    monkeypatch.setitem(kinds, Weighted, value=True)
    made = OtherSummary(coverage=Weighted(value=None, unjudged=7), not_a_figure=1)
    monkeypatch.setitem(SUMMARIES, "other", lambda rows, _policy: made if rows else None)
    gateable_metrics.cache_clear()
    yield
    gateable_metrics.cache_clear()


@pytest.mark.usefixtures("another_instrument")
def test_another_instrument_is_summarised_and_gated(make_row: MakeRow) -> None:
    assert gateable_metrics()["coverage"] == ("other", Weighted)
    assert "not_a_figure" not in gateable_metrics()
    some, none = summarize([make_row()]), summarize([])
    assert figures(some)["coverage"] is None
    gate = parse_gate("coverage >= 0.6")
    assert [check_gates([gate], summary)[0].why for summary in (some, none)] == [
        "coverage is null: 7 unjudged",
        "coverage is null: the run has no other rows",
    ]
    with pytest.raises(ConfigError, match="coverage is a share"):
        parse_gate("coverage >= 60")

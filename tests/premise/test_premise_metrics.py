"""premise_summary over hand-worked rows: every field, what it counts, and what it leaves out."""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from evals.metrics import Histogram, Mean, Rate
from evals.premise.metrics import PremiseSummary, premise_summary
from evals.premise.row import ConclusionRow
from evals.records import Call

Answers = Callable[..., dict[str, Any]]
MakeRow = Callable[..., ConclusionRow]
MakeCall = Callable[..., Call]


@pytest.fixture
def rows(make_row: MakeRow, pass_1: Answers, pass_2: Answers) -> list[ConclusionRow]:
    time = {"slot": "TIME", "why": ""}
    elements = [
        {"element": "a", "kind": kind, "why": ""} for kind in ("OVER_INFERENCE", "FABRICATION")
    ]
    return [
        make_row(
            pass_1(decontextuality=1.0, labels=["x"]),
            pass_2(time_status="SELF_ANCHORING"),
            name="sound",
            minimality=1.0,
            words=10,
        ),
        make_row(
            pass_1(decontextuality=0.4, unknown_slots=[time], bundled=True),
            pass_2(time_status="UNANCHORED", labels=["y", "x"]),
            name="open slots",
            minimality=0.4,
            claims=["one", "two"],
            missing=[("TIME", "PRESENT_IN_WINDOW"), ("PLACE", "ABSENT_FROM_WINDOW")],
            scope="window",
            words=30,
        ),
        make_row(
            pass_1(decontextuality=0.25, licensed_inference="NONE"),
            pass_2(unsupported_elements=elements),
            name="says too much",
            words=8,
        ),
        make_row(
            pass_1(decontextuality=0.64, bundled=True),
            pass_2(time_status="ANCHORED_TO_BAD_TIMESTAMP"),
            name="bad timestamp",
            minimality=0.25,
            claims=[],
            missing=[("PLACE", "ABSENT_EVERYWHERE")],
            scope="window",
            words=25,
        ),
        make_row(
            pass_1(decontextuality=0.5, labels=["x"]),
            None,
            name="no pass 2",
            reason="timeout",
            minimality=0.5,
            words=7,
        ),
        make_row(None, None, name="nothing", words=26),
    ]


@pytest.fixture
def summary(rows: list[ConclusionRow]) -> PremiseSummary:
    return premise_summary(rows)


@pytest.mark.parametrize(
    ("name", "hits", "n", "unjudged"),
    [
        ("pass_rate", 2, 4, 2),
        ("bundled_rate", 2, 4, 2),
        ("bad_timestamp_rate", 1, 4, 2),
        ("token_range_rate", 3, 6, 0),
        ("unjudged_share", 2, 6, 0),
    ],
)
def test_rates(summary: PremiseSummary, name: str, hits: int, n: int, unjudged: int) -> None:
    rate = getattr(summary, name)
    assert isinstance(rate, Rate)
    assert (rate.hits, rate.n, rate.unjudged) == (hits, n, unjudged)
    assert rate.value == pytest.approx(hits / n)


def test_the_pass_rate_has_its_wilson_interval(summary: PremiseSummary) -> None:
    # 2 of 4: 0.5 ± 1.96 * sqrt(0.25/4 + 3.8415/64) / (1 + 3.8415/4)
    assert summary.pass_rate.low == pytest.approx(0.1500, abs=1e-4)
    assert summary.pass_rate.high == pytest.approx(0.8500, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "value", "n", "unjudged"),
    [
        ("mean_decontextuality", (1.0 + 0.4 + 0.25 + 0.64) / 4, 4, 2),
        # Without a verdict, or without a minimality of its own.
        ("mean_minimality", (1.0 + 0.4 + 0.25) / 3, 3, 3),
        ("mean_molecular", (1.0 + 0.4 + 0.4) / 3, 3, 3),
    ],
)
def test_means(summary: PremiseSummary, name: str, value: float, n: int, unjudged: int) -> None:
    mean = getattr(summary, name)
    assert isinstance(mean, Mean)
    assert mean.value == pytest.approx(value)
    assert (mean.n, mean.unjudged) == (n, unjudged)
    assert mean.low is not None
    assert mean.high is not None
    assert 0.25 <= mean.low < value < mean.high <= 1


@pytest.mark.parametrize(
    ("name", "counts", "n", "unjudged"),
    [
        # Of failed conclusions alone: the sound one's missing slot is not in it.
        ("failure_attribution_split", {"ABSENT_FROM_WINDOW": 1, "PRESENT_IN_WINDOW": 1}, 2, 2),
        ("failure_attribution_by_conclusion", {"mixed": 1, "no open slot": 1}, 2, 2),
        ("attribution_scope", {"window": 1}, 2, 2),
        # Of both passes: the labels of a pass 1 without a pass 2 are not in it.
        ("label_histogram", {"x": 2, "y": 1}, 4, 2),
        (
            "time_status_histogram",
            {
                "ANCHORED_CORRECTLY": 1,
                "ANCHORED_TO_BAD_TIMESTAMP": 1,
                "SELF_ANCHORING": 1,
                "UNANCHORED": 1,
            },
            4,
            2,
        ),
        (
            "failed_condition_histogram",
            {
                "licensed_inference": 1,
                "time_status": 1,
                "unknown_slots": 1,
                "unsupported_elements": 1,
            },
            2,
            2,
        ),
        ("unsupported_kind_histogram", {"FABRICATION": 1, "OVER_INFERENCE": 1}, 4, 2),
    ],
)
def test_histograms(
    summary: PremiseSummary, name: str, counts: dict[str, int], n: int, unjudged: int
) -> None:
    histogram = getattr(summary, name)
    assert list(histogram.counts.items()) == list(counts.items())
    assert (histogram.n, histogram.unjudged) == (n, unjudged)


def test_counts(summary: PremiseSummary) -> None:
    assert summary.conclusions == 6
    assert summary.failed_without_open_slot == 1
    assert summary.unattributed_slots == 0
    assert summary.unjudged_by_reason == {"refused": 1, "timeout": 1}
    # The unjudged conclusion without a minimality is among those above, and counted once.
    assert summary.minimality_unjudged_by_reason == {"refused": 1}
    assert summary.attribution_unjudged_by_reason == {}


def test_no_metric_counts_a_conclusion_without_a_verdict(
    make_row: MakeRow, pass_1: Answers, pass_2: Answers
) -> None:
    judged = [
        make_row(pass_1(), pass_2(), minimality=0.5),
        make_row(pass_1(licensed_inference="NONE", bundled=True), pass_2(), minimality=0.7),
    ]
    # Its calls were answered, all but pass 2.
    answered = make_row(pass_1(bundled=True, decontextuality=0.0), None, minimality=0.0)
    alone, beside = premise_summary(judged), premise_summary([*judged, answered])
    metrics = [
        name
        for name, field in PremiseSummary.model_fields.items()
        if field.annotation in {Rate, Mean, Histogram}
        and name not in {"unjudged_share", "token_range_rate"}
    ]
    assert len(metrics) > 10
    for name in metrics:
        before, after = getattr(alone, name), getattr(beside, name)
        assert after == before.model_copy(update={"unjudged": 1}), name
    assert beside.bundled_by_minimality == alone.bundled_by_minimality
    assert answered.molecular is None


def test_what_minimality_leaves_out_is_told_by_the_two_reasons(
    make_row: MakeRow, pass_1: Answers, pass_2: Answers
) -> None:
    rows = [
        make_row(pass_1(), pass_2(), reason="timeout"),
        make_row(pass_1(), pass_2(), reason="truncated"),
        make_row(pass_1(), None, reason="timeout"),
        make_row(pass_1(), None, reason="exhausted", minimality=0.5),
        make_row(pass_1(), pass_2(), minimality=0.5),
    ]
    summary = premise_summary(rows)
    assert summary.minimality_unjudged_by_reason == {"timeout": 1, "truncated": 1}
    assert summary.unjudged_by_reason == {"exhausted": 1, "timeout": 1}
    assert (summary.mean_minimality.n, summary.mean_minimality.unjudged) == (1, 2 + 2)


def test_bundled_is_crossed_with_minimality(summary: PremiseSummary) -> None:
    single, bundled = summary.bundled_by_minimality
    assert (single.bundled, bundled.bundled) == (False, True)
    assert (single.minimality.value, single.minimality.n, single.minimality.unjudged) == (
        1.0,
        1,
        1,  # judged, without a minimality; the one without a pass 2 is in neither cell
    )
    assert (single.single_claim.hits, single.single_claim.n, single.single_claim.unjudged) == (
        1,
        1,
        1,
    )
    assert bundled.minimality.value == pytest.approx(0.325)
    assert (bundled.minimality.n, bundled.minimality.unjudged) == (2, 0)
    # No claim at all is not several claims.
    assert (bundled.single_claim.hits, bundled.single_claim.n) == (1, 2)


def test_no_rows_give_no_number() -> None:
    summary = premise_summary([])
    assert summary.conclusions == 0
    for name in ("pass_rate", "unjudged_share", "token_range_rate", "bundled_rate"):
        rate = getattr(summary, name)
        assert (rate.n, rate.value, rate.low, rate.high) == (0, None, None, None)
    assert summary.mean_molecular.value is None
    assert summary.failure_attribution_split.counts == {}
    assert summary.tokens.calls == 0


def test_all_unjudged_gives_no_number(make_row: MakeRow) -> None:
    summary = premise_summary([make_row(None, None, name=f"c{n}") for n in range(3)])
    assert (summary.pass_rate.value, summary.pass_rate.unjudged) == (None, 3)
    assert (summary.failure_attribution_split.n, summary.failure_attribution_split.unjudged) == (
        0,
        3,
    )
    assert summary.unjudged_share.value == 1.0
    assert summary.failed_without_open_slot == 0


def test_the_order_of_rows_does_not_matter(
    make_row: MakeRow, pass_1: Answers, pass_2: Answers, make_call: MakeCall
) -> None:
    rng = random.Random(7)
    rows = [
        make_row(
            pass_1(decontextuality=rng.random(), bundled=rng.random() < 0.4, labels=["a", "b"]),
            None if n % 7 == 0 else pass_2(force_preserved=n % 3 > 0, labels=[f"l{n % 5}"]),
            name=f"c{n}",
            minimality=None if n % 11 == 0 else rng.random(),
            calls=[
                make_call("premise.pass_1", f"p{n}", source="live", attempts=1),
                make_call(
                    "premise.minimality",
                    f"m{n // 4}",
                    source=["live", "store", "recording"][n % 3],
                    attempts=int(n % 3 == 0),
                ),
            ],
        )
        for n in range(60)
    ]
    wanted = premise_summary(rows).model_dump_json()
    for _ in range(10):
        rng.shuffle(rows)
        assert premise_summary(rows).model_dump_json() == wanted


def test_a_shared_request_is_counted_once(
    make_row: MakeRow, pass_1: Answers, make_call: MakeCall
) -> None:
    shared = {"input_tokens": 1000, "output_tokens": 50, "cache_read_tokens": 7}
    rows = [
        make_row(
            pass_1(),
            None,
            calls=[
                make_call("premise.pass_1", f"p{n}"),
                make_call("premise.minimality", "m", source=source, **shared),
            ],
        )
        for n, source in enumerate(["store", "live", "store"])
    ]
    tokens = premise_summary(rows).tokens
    assert tokens.calls == 4
    assert tokens.calls_by_purpose == {"premise.pass_1": 3, "premise.minimality": 1}
    # Paid for in this run by the row that asked first, found in the store by the others.
    assert tokens.calls_by_source == {"store": 3, "live": 1}
    assert (tokens.input_tokens, tokens.output_tokens) == (1300, 80)
    assert (tokens.cache_read_tokens, tokens.cache_write_tokens) == (7, 0)
    assert tokens.calls_without_usage == 0


def test_unknown_usage_is_counted_and_not_guessed(
    make_row: MakeRow, pass_1: Answers, make_call: MakeCall
) -> None:
    unknown = dict.fromkeys(
        ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"]
    )
    calls = [make_call("premise.pass_1", "a"), make_call("premise.pass_2", "b", **unknown)]
    tokens = premise_summary([make_row(pass_1(), None, calls=calls)]).tokens
    assert (tokens.calls, tokens.calls_without_usage) == (2, 1)
    assert (tokens.input_tokens, tokens.output_tokens) == (100, 10)


@pytest.mark.parametrize(
    ("decontextuality", "minimality", "molecular"),
    [(0.81, 1.0, 0.9), (0.5, 0.5, 0.5), (0.0, 1.0, 0.0), (1.0, 0.25, 0.5), (0.9, None, None)],
)
def test_the_molecular_score_is_the_geometric_mean(
    make_row: MakeRow,
    pass_1: Answers,
    pass_2: Answers,
    decontextuality: float,
    minimality: float | None,
    molecular: float | None,
) -> None:
    row = make_row(pass_1(decontextuality=decontextuality), pass_2(), minimality=minimality)
    if molecular is None:
        assert row.molecular is None
    else:
        assert row.molecular is not None
        assert math.isclose(row.molecular, molecular, abs_tol=1e-12)


def test_the_length_changes_no_score(make_row: MakeRow, pass_1: Answers, pass_2: Answers) -> None:
    short = premise_summary([make_row(pass_1(), pass_2(), minimality=0.5, words=2)])
    long = premise_summary([make_row(pass_1(), pass_2(), minimality=0.5, words=90)])
    fine = premise_summary([make_row(pass_1(), pass_2(), minimality=0.5, words=12)])
    assert (short.token_range_rate.hits, long.token_range_rate.hits) == (0, 0)
    assert fine.token_range_rate.hits == 1
    for name in ("pass_rate", "mean_decontextuality", "mean_minimality", "mean_molecular"):
        assert getattr(short, name) == getattr(long, name) == getattr(fine, name)

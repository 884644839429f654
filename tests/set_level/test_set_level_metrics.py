"""set_level_summary over hand-worked rows: every field, what it counts, and what it leaves out."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from evals.metrics import Mean, Rate
from evals.records import Call
from evals.set_level.metrics import SetLevelSummary, set_level_summary
from evals.set_level.row import SetLevelRow

Issue = Callable[..., dict[str, Any]]
MakeRow = Callable[..., SetLevelRow]
MakeCall = Callable[..., Call]


@pytest.fixture
def rows(make_row: MakeRow, issue: Issue) -> list[SetLevelRow]:
    clash = {"kind": "TEMPORAL_CONFUSION"}
    return [
        # One group of four, one of two, a contradiction: 3 + 1 of 8 could go.
        make_row(
            "abcdefgh",
            [
                issue(*"abcd", severity="HIGH"),
                issue(*"ef"),
                issue(*"ag", severity="MEDIUM", **clash),
            ],
            repeats=["ab", "gh"],
            name="loop",
        ),
        # Three conclusions in two groups that overlap: 1 of 5 could go for sure. The string repeats
        # are held together by the two.
        make_row("abcde", [issue(*"ab"), issue(*"cb")], repeats=["abc"], name="overlap"),
        make_row("abc", [issue(*"ab", **clash), issue(*"bc", **clash)], name="clash"),
        make_row("a", [], name="one"),
        make_row("abcd", None, repeats=["abcd"], reason="too_large", name="unjudged"),
    ]


@pytest.fixture
def summary(rows: list[SetLevelRow]) -> SetLevelSummary:
    return set_level_summary(rows)


@pytest.mark.parametrize(
    ("name", "hits", "n", "unjudged"),
    [
        ("redundancy_rate", 3 + 1 + 1, 8 + 5 + 3 + 1, 4),
        ("string_redundancy_rate", 2 + 2 + 3, 8 + 5 + 3 + 1 + 4, 0),
        ("set_level_unjudged_share", 1, 5, 0),
    ],
)
def test_rates(summary: SetLevelSummary, name: str, hits: int, n: int, unjudged: int) -> None:
    rate = getattr(summary, name)
    assert isinstance(rate, Rate)
    assert (rate.hits, rate.n, rate.unjudged) == (hits, n, unjudged)
    assert rate.value == pytest.approx(hits / n)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("redundancy_groups_by_size", {"2": 3, "4": 1}),
        ("issues_by_severity", {"LOW": 5, "HIGH": 1, "MEDIUM": 1}),
    ],
)
def test_histograms(summary: SetLevelSummary, name: str, counts: dict[str, int]) -> None:
    histogram = getattr(summary, name)
    assert list(histogram.counts.items()) == list(counts.items())
    assert (histogram.n, histogram.unjudged) == (4, 1)


def test_contradictions_are_averaged_over_judged_batches(summary: SetLevelSummary) -> None:
    mean = summary.contradictions_per_window
    assert isinstance(mean, Mean)
    assert (mean.value, mean.n, mean.unjudged) == ((1 + 0 + 2 + 0) / 4, 4, 1)


def test_counts(summary: SetLevelSummary) -> None:
    assert (summary.batches, summary.conclusions) == (5, 21)
    assert summary.unjudged_by_reason == {"too_large": 1}
    # ab, gh and ab, ac, bc of judged batches; the judge has all but gh together. The six pairs of
    # the unjudged batch are no miss.
    assert (summary.string_repeat_pairs, summary.string_repeats_missed_by_judge) == (5, 1)


@pytest.mark.parametrize(
    ("groups", "repeats", "going", "missed"),
    [
        ([], [], 0, 0),
        (["ab"], ["ab"], 1, 0),
        (["abcd"], ["ab", "cd"], 3, 0),
        (["ab", "cd"], ["abcd"], 2, 4),
        (["ab", "bc", "cd"], ["ad"], 1, 0),
        (["ab", "ba"], [], 1, 0),
        (["abc", "cde"], [], 3, 0),
        (["abc", "ab"], ["bc"], 1, 0),
        (["ab", "bc", "ca"], [], 0, 0),
        (["ab", "bc", "ca", "cd", "da"], [], 0, 0),
        ([], ["abc"], 0, 3),
        (["abcde"], [], 4, 0),
    ],
)
def test_one_of_each_distinct_group_stays(
    make_row: MakeRow,
    issue: Issue,
    groups: list[str],
    repeats: list[str],
    going: int,
    missed: int,
) -> None:
    row = make_row("abcde", [issue(*group) for group in groups], repeats=repeats)
    summary = set_level_summary([row])
    assert (summary.redundancy_rate.hits, summary.redundancy_rate.n) == (going, 5)
    assert summary.string_repeats_missed_by_judge == missed


def test_groups_are_counted_as_the_judge_gave_them_and_each_once(
    make_row: MakeRow, issue: Issue
) -> None:
    row = make_row("abcde", [issue(*group) for group in ("db", "bcde", "bd", "ab")])
    assert row.redundancy_groups == (("a", "b"), ("b", "c", "d", "e"), ("b", "d"))
    counts = set_level_summary([row]).redundancy_groups_by_size.counts
    assert counts == {"2": 2, "4": 1}


def test_never_more_is_dropped_than_leaves_one_of_each_group(
    make_row: MakeRow, issue: Issue
) -> None:
    """The most that could go, found by trying: exact without overlap, else not exceeded."""
    rng = random.Random(4)
    exact = 0
    for _ in range(300):
        groups = [rng.sample("abcdefg", rng.choice([2, 2, 3, 4])) for _ in range(rng.randint(0, 4))]
        row = make_row("abcdefg", [issue(*group) for group in groups])
        going = set_level_summary([row]).redundancy_rate.hits
        grouped = set().union(*groups)
        kept = next(
            size
            for size in range(len(grouped) + 1)
            for stay in itertools.combinations(sorted(grouped), size)
            if all(set(stay) & set(group) for group in groups)
        )
        assert 0 <= going <= len(grouped) - kept
        if sum(map(len, groups)) == len(grouped):
            assert going == len(grouped) - kept
            exact += 1
    assert exact > 50


def test_a_contradiction_is_no_redundancy(make_row: MakeRow, issue: Issue) -> None:
    row = make_row("ab", [issue(*"ab", kind="TEMPORAL_CONFUSION")], repeats=["ab"])
    summary = set_level_summary([row])
    assert summary.redundancy_rate.hits == 0
    assert summary.redundancy_groups_by_size.counts == {}
    assert summary.string_repeats_missed_by_judge == 1


def test_no_rows_give_no_number() -> None:
    summary = set_level_summary([])
    for name in ("redundancy_rate", "string_redundancy_rate", "set_level_unjudged_share"):
        rate = getattr(summary, name)
        assert (rate.n, rate.value, rate.low, rate.high) == (0, None, None, None)
    assert summary.contradictions_per_window.value is None
    assert (summary.batches, summary.conclusions, summary.tokens.calls) == (0, 0, 0)


def test_all_unjudged_gives_no_number_but_the_judge_free_one(make_row: MakeRow) -> None:
    rows = [make_row("abc", None, repeats=["ab"], name=f"w{n}") for n in range(2)]
    summary = set_level_summary(rows)
    assert (summary.redundancy_rate.value, summary.redundancy_rate.unjudged) == (None, 6)
    assert summary.contradictions_per_window.value is None
    assert (summary.issues_by_severity.n, summary.issues_by_severity.unjudged) == (0, 2)
    assert summary.string_redundancy_rate.value == pytest.approx(2 / 6)
    assert (summary.string_repeat_pairs, summary.string_repeats_missed_by_judge) == (0, 0)
    assert summary.set_level_unjudged_share.value == 1.0
    assert summary.unjudged_by_reason == {"refused": 2}


def test_the_order_of_rows_does_not_matter(
    make_row: MakeRow, issue: Issue, make_call: MakeCall
) -> None:
    rng = random.Random(7)
    kinds = ["REDUNDANCY", "TEMPORAL_CONFUSION"]
    rows = [
        make_row(
            "abcdef",
            None
            if n % 7 == 0
            else [
                issue(*rng.sample("abcdef", 2), kind=rng.choice(kinds), severity=severity)
                for severity in rng.sample(["LOW", "MEDIUM", "HIGH"], n % 4)
            ],
            repeats=["ab"] if n % 3 else [],
            name=f"w{n}",
            calls=[make_call(f"h{n // 2}", source=["live", "store"][n % 2])],
        )
        for n in range(40)
    ]
    wanted = set_level_summary(rows).model_dump_json()
    for _ in range(10):
        rng.shuffle(rows)
        assert set_level_summary(rows).model_dump_json() == wanted


def test_calls_and_tokens_are_counted(make_row: MakeRow, make_call: MakeCall) -> None:
    unknown = dict.fromkeys(
        ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"]
    )
    rows = [
        make_row("ab", [], calls=[make_call("a", cache_read_tokens=7)]),
        make_row("ab", [], calls=[make_call("b", source="recording", attempts=0, **unknown)]),
        make_row("a", []),
        # Equal windows ask once: live for the one, found in the store by the other.
        make_row("ab", [], calls=[make_call("a", source="store", attempts=0)]),
    ]
    tokens = set_level_summary(rows).tokens
    assert (tokens.calls, tokens.calls_without_usage) == (2, 1)
    assert tokens.calls_by_purpose == {"set_level.judge": 2}
    assert tokens.calls_by_source == {"live": 1, "recording": 1}
    assert (tokens.input_tokens, tokens.output_tokens) == (100, 10)
    assert (tokens.cache_read_tokens, tokens.cache_write_tokens) == (7, 0)

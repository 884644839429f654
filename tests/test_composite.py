"""Quality x coverage, worked by hand: weights 4, 2, 1, 0 and half credit for PARTIAL."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from evals.composite import CompositeSummary, composite
from evals.coverage.row import CoverageRow, GoldFact
from evals.policy import CoveragePolicy
from evals.premise.row import ConclusionRow
from evals.premise.verdict import Verdict
from evals.records import Message, Unjudged, Window, window_text_hash_of
from tests.coverage.rows import coverage_row, gold_fact, provenance_for

POLICY = CoveragePolicy()
SOUND, UNSOUND, UNJUDGED = "sound", "unsound", "unjudged"


def window(name: str) -> Window:
    messages = (Message(message_id="m1", peer_id="vince", text="at the bakery", sent_at=None),)
    return Window(
        window_id=name,
        conversation_id=None,
        peer_id="vince",
        messages=messages,
        window_text_hash=window_text_hash_of(messages),
        window_reconstructed=False,
        dataset_shape="benchmark",
        earlier_messages=None,
        conclusions=(),
    )


def conclusion(name: str, outcome: str, window_id: str = "w1") -> ConclusionRow:
    sound = outcome == SOUND
    verdict = Verdict(
        sound=sound,
        pass_1_ok=sound,
        pass_2_ok=True,
        failed_because=() if sound else ("unknown_slots",),
    )
    fields: dict[str, Any] = {"outcome": outcome}
    return ConclusionRow(
        kind="conclusion",
        instrument="premise",
        case_id=f"{window_id}/{name}",
        unjudged=Unjudged(reason="refused", detail="why") if outcome == UNJUDGED else None,
        calls=(),
        provenance=provenance_for(window(window_id)),
        conclusion_id=name,
        conversation_id=None,
        peer_id="vince",
        text=f"text of {name}",
        verdict=None if outcome == UNJUDGED else verdict,
        pass_1=None,
        pass_2=None,
        minimality=None,
        minimality_unjudged=None,
        missing=(),
        attribution_scope=None,
        attribution_unjudged=None,
        token_count=3,
        **fields,
    )


CONCLUSIONS = (
    conclusion("s1", SOUND),
    conclusion("s2", SOUND),
    conclusion("f1", UNSOUND),
    conclusion("f2", UNSOUND),
    conclusion("u1", UNJUDGED),
)


def fact(gold_id: str, status: str | None, covering: str = "", **changed: Any) -> GoldFact:
    return gold_fact(gold_id, status=status, covering=tuple(covering.split()), **changed)


def of(gold: Sequence[GoldFact] | None, policy: CoveragePolicy = POLICY) -> CompositeSummary:
    return composite([coverage_row(window("w1"), gold)], CONCLUSIONS, policy)


@pytest.mark.parametrize(
    ("status", "covering", "earned", "weight", "kept_lost_unknown"),
    [
        ("COVERED", "s1", 1, 1, (1, 0, 0)),
        ("COVERED", "f1 s1", 1, 1, (1, 0, 0)),
        ("COVERED", "u1 s1", 1, 1, (1, 0, 0)),
        ("COVERED", "gone s1", 1, 1, (1, 0, 0)),
        ("COVERED", "f1", 0.5, 1, (0, 1, 0)),
        ("COVERED", "f1 f2", 0.5, 1, (0, 1, 0)),
        ("COVERED", "u1", 0, 0, (0, 0, 1)),
        ("COVERED", "u1 f1", 0, 0, (0, 0, 1)),
        ("COVERED", "gone", 0, 0, (0, 0, 1)),
        ("COVERED", "gone f1", 0, 0, (0, 0, 1)),
        ("PARTIAL", "s1", 0.5, 1, (0, 0, 0)),
        ("PARTIAL", "f1", 0.5, 1, (0, 0, 0)),
        ("PARTIAL", "u1", 0.5, 1, (0, 0, 0)),
        ("MISSING", "", 0, 1, (0, 0, 0)),
        (None, "", 0, 0, (0, 0, 0)),
    ],
)
def test_a_fact_counts_by_the_verdicts_of_what_covers_it(
    status: str | None,
    covering: str,
    earned: float,
    weight: float,
    kept_lost_unknown: tuple[int, int, int],
) -> None:
    summary = of([fact("g1", status, covering)])
    quality = summary.quality_coverage
    unknown = kept_lost_unknown[2]
    worst, best = summary.quality_coverage_worst, summary.quality_coverage_best
    wanted = (0.5, 1) if unknown else (quality.value, quality.value)
    assert (worst.value, best.value) == wanted
    assert (worst.unjudged, best.unjudged) == (quality.unjudged - unknown,) * 2
    assert (quality.earned, quality.weight) == (earned, weight)
    assert quality.value == (earned if weight else None)
    assert quality.unjudged == (0 if weight else 1)
    counted = (summary.facts_kept, summary.facts_lost, summary.facts_unknown)
    assert counted == kept_lost_unknown
    assert summary.facts_covered == sum(counted)


MIXED = (
    fact("g1", "COVERED", "s1", importance="CRITICAL"),  # 4 of 4
    fact("g2", "COVERED", "f1 f2", importance="IMPORTANT"),  # 1 of 2: lost
    fact("g3", "COVERED", "u1", importance="IMPORTANT"),  # unknown: neither
    fact("g4", "MISSING", importance="MINOR"),  # 0 of 1
    fact("g5", "COVERED", "f1", importance="TRIVIAL"),  # lost, at no weight
    fact("g6", "COVERED", "f1", requires_inference=True),  # implicit: 0.5 of 1
    fact("g10", "COVERED", "f1", importance="IMPORTANT"),  # 1 of 2: lost
)


def test_weights_and_the_split_worked_by_hand() -> None:
    summary = of(MIXED)
    known = summary.quality_coverage
    assert (known.value, known.low, known.high) == (None, None, None)  # g3 is unknown
    assert (known.earned, known.weight) == (4 + 1 + 0 + 1, 4 + 2 + 1 + 2)
    assert (known.n, known.unjudged) == (4, 1)
    worst, best = summary.quality_coverage_worst, summary.quality_coverage_best
    assert worst.value == pytest.approx((4 + 1 + 1 + 0 + 1) / (4 + 2 + 2 + 1 + 2))
    assert best.value == pytest.approx((4 + 1 + 2 + 0 + 1) / (4 + 2 + 2 + 1 + 2))
    assert (worst.n, worst.unjudged, best.n, best.unjudged) == (5, 0, 5, 0)
    assert summary.quality_coverage_implicit.value == 0.5
    assert (summary.facts_covered, summary.facts_kept) == (6, 1)
    assert (summary.facts_lost, summary.facts_unknown) == (4, 1)


def test_policy_decides_weights_and_what_partial_is_worth() -> None:
    policy = CoveragePolicy(critical_weight=1, important_weight=0, partial_credit=0)
    summary = of(MIXED, policy)
    assert summary.quality_coverage.value == pytest.approx((1 + 0) / (1 + 1))
    assert summary.quality_coverage_implicit.value == 0
    assert (summary.quality_coverage.n, summary.quality_coverage.unjudged) == (2, 0)


def test_lost_facts_name_what_failed_and_why_heaviest_first() -> None:
    lost = of(MIXED).lost_facts
    assert [item.gold_id for item in lost] == ["g2", "g10", "g6", "g5"]
    assert [(one.conclusion_id, one.text, one.failed_because) for one in lost[0].failed] == [
        ("f1", "text of f1", ("unknown_slots",)),
        ("f2", "text of f2", ("unknown_slots",)),
    ]
    assert (lost[2].requires_inference, lost[3].importance) == (True, "TRIVIAL")
    assert (lost[0].window_id, lost[0].fact) == ("w1", "fact g2 of vince")


def test_points_hold_both_figures_of_each_window_or_none() -> None:
    rows = [
        coverage_row(window("w2"), [fact("g1", "COVERED", "c")]),
        coverage_row(window("w1"), MIXED),
        coverage_row(window("w3"), None),
        coverage_row(window("w5"), [fact("g1", "COVERED", "u")]),
    ]
    conclusions = [
        *CONCLUSIONS,
        conclusion("c", SOUND, "w4"),
        conclusion("u", UNJUDGED, "w5"),
    ]
    by_window = {point.window_id: point for point in composite(rows, conclusions, POLICY).points}
    assert list(by_window) == ["w1", "w2", "w3", "w4", "w5"]
    first = by_window["w1"]
    assert (first.pass_rate, first.conclusions_judged, first.conclusions_unjudged) == (0.5, 4, 1)
    assert first.coverage_explicit == pytest.approx((4 + 2 + 2 + 0 + 2) / (4 + 2 + 2 + 1 + 2))
    assert first.quality_coverage is None
    assert first.facts_unknown == 1
    # A conclusion of another window never vouches for this one's facts, same id or not.
    second = by_window["w2"]
    assert (second.pass_rate, second.coverage_explicit, second.quality_coverage) == (None, 1, None)
    third, fourth, fifth = by_window["w3"], by_window["w4"], by_window["w5"]
    assert (third.pass_rate, third.coverage_explicit, third.quality_coverage) == (None, None, None)
    assert (fourth.pass_rate, fourth.coverage_explicit) == (1, None)
    assert (fifth.pass_rate, fifth.conclusions_unjudged, fifth.facts_unknown) == (None, 1, 1)


def test_windows_without_gold_are_counted_apart() -> None:
    rows = [coverage_row(window("w1"), None), coverage_row(window("w2"), [fact("g1", "MISSING")])]
    summary = composite(rows, CONCLUSIONS, POLICY)
    assert summary.quality_coverage.unjudged_windows == 1
    assert (summary.quality_coverage.value, summary.quality_coverage.n) == (0, 1)


@pytest.mark.parametrize("gold", [(), None])
def test_nothing_is_no_number(gold: Sequence[GoldFact] | None) -> None:
    summary = of(gold)
    assert summary.quality_coverage.value is None
    assert summary.quality_coverage_implicit.value is None
    assert (summary.facts_covered, summary.lost_facts) == (0, ())
    empty = composite([], [], POLICY)
    assert (empty.quality_coverage.value, empty.points) == (None, ())


def test_the_order_of_rows_does_not_matter() -> None:
    def gold_of(number: int) -> list[GoldFact]:
        covering = "c" if number % 3 else "c d"
        return [fact("g1", "COVERED", covering, importance="CRITICAL"), fact("g2", "PARTIAL", "c")]

    rows: list[CoverageRow] = [coverage_row(window(f"w{n}"), gold_of(n)) for n in range(12)]
    conclusions = [conclusion("c", SOUND if n % 2 else UNSOUND, f"w{n}") for n in range(12)]
    in_order = composite(rows, conclusions, POLICY)
    assert in_order.quality_coverage_worst.low is not None
    assert 0 < in_order.facts_unknown < in_order.facts_covered
    assert 0 < in_order.facts_lost < in_order.facts_covered
    shuffle = random.Random(7)
    for _ in range(5):
        shuffle.shuffle(rows)
        shuffle.shuffle(conclusions)
        assert composite(rows, conclusions, POLICY) == in_order


def test_quality_never_exceeds_coverage_where_every_verdict_is_known() -> None:
    judged = [conclusion("c", UNSOUND), conclusion("d", SOUND)]
    statuses = [("COVERED", "c"), ("COVERED", "d"), ("COVERED", "c d"), ("PARTIAL", "c")]
    for status, covering in statuses:
        gold = [fact("g1", status, covering), fact("g2", "MISSING")]
        (point,) = composite([coverage_row(window("w1"), gold)], judged, POLICY).points
        assert point.quality_coverage is not None
        assert point.coverage_explicit is not None
        assert point.quality_coverage <= point.coverage_explicit


def judged_at_random(rng: random.Random) -> tuple[list[CoverageRow], list[ConclusionRow]]:
    names = [f"c{number}" for number in range(5)]
    rows, conclusions = [], []
    for window_id in ("w1", "w2", "w3"):
        gold = []
        for number in range(6):
            status = rng.choice(["COVERED", "COVERED", "PARTIAL", "MISSING", None])
            covering = rng.sample(names, rng.randint(1, 2))
            gold.append(
                fact(
                    f"g{number}",
                    status,
                    " ".join(covering) if status in {"COVERED", "PARTIAL"} else "",
                    importance=rng.choice(["CRITICAL", "IMPORTANT", "MINOR", "TRIVIAL"]),
                    requires_inference=rng.random() < 0.2,
                )
            )
        rows.append(coverage_row(window(window_id), gold))
        conclusions += [conclusion(n, rng.choice([SOUND, UNSOUND]), window_id) for n in names]
    return rows, conclusions


def test_the_bounds_hold_what_the_missing_verdicts_would_have_brought() -> None:
    rng = random.Random(17)
    bounded = 0
    for _ in range(60):
        rows, conclusions = judged_at_random(rng)
        policy = CoveragePolicy(partial_credit=rng.choice([0, 0.3, 0.5, 1]))
        true = composite(rows, conclusions, policy)
        # Nothing is unknown, so the three are one.
        assert true.quality_coverage_worst == true.quality_coverage
        assert true.quality_coverage_best == true.quality_coverage
        value = true.quality_coverage.value
        assert value is not None
        kept = [row for row in conclusions if rng.random() < 0.7]
        found = composite(rows, kept, policy)
        worst, best = found.quality_coverage_worst, found.quality_coverage_best
        assert worst.value is not None
        assert best.value is not None
        assert worst.value <= value + 1e-12
        assert value <= best.value + 1e-12
        assert (worst.n, worst.weight) == (best.n, best.weight)
        assert worst.n == true.quality_coverage.n
        unknown = best.n - found.quality_coverage.n
        shown = found.quality_coverage
        assert (shown.value is None, shown.low is None) == (unknown > 0, unknown > 0)
        bounded += unknown > 0
    assert 30 < bounded < 60


def test_without_any_verdict_the_bounds_are_coverage_and_all_partial() -> None:
    gold = [*MIXED, fact("g11", "PARTIAL", "s1", importance="IMPORTANT"), fact("g12", None)]
    summary = composite([coverage_row(window("w1"), gold)], [], POLICY)
    weights = 4 + 2 + 2 + 1 + 2 + 2
    worst, best = summary.quality_coverage_worst, summary.quality_coverage_best
    assert best.value == pytest.approx((4 + 2 + 2 + 0 + 2 + 1) / weights)
    assert worst.value == pytest.approx((2 + 1 + 1 + 0 + 1 + 1) / weights)
    assert (worst.unjudged, best.unjudged) == (1, 1)  # g12: matching is unjudged
    assert best.value == summary.points[0].coverage_explicit
    assert summary.quality_coverage.value is None
    assert (summary.points[0].quality_coverage, summary.points[0].facts_unknown) == (None, 4)


def test_an_unknown_fact_without_weight_takes_no_number_away() -> None:
    summary = of([fact("g1", "COVERED", "s1"), fact("g2", "COVERED", "u1", importance="TRIVIAL")])
    assert summary.facts_unknown == 1
    assert summary.quality_coverage.value == 1
    assert summary.quality_coverage_worst == summary.quality_coverage


def test_the_implicit_share_is_no_number_where_a_fact_of_its_own_is_unknown() -> None:
    implicit = fact("g1", "COVERED", "u1", requires_inference=True)
    summary = of([implicit, fact("g2", "COVERED", "s1")])
    assert summary.quality_coverage.value == 1
    known = of([implicit.model_copy(update={"covering": ("s1",)})])
    assert known.quality_coverage_implicit.value == 1
    both = of([implicit, implicit.model_copy(update={"gold_id": "g3", "covering": ("s1",)})])
    assert both.quality_coverage_implicit.value is None
    assert both.quality_coverage_implicit.unjudged == 1

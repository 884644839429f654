"""coverage_summary on hand-worked rows, and what it must not depend on."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evals.coverage.metrics import coverage_summary
from evals.coverage.row import CoverageRow, DroppedFact, GoldFact, Question
from evals.judging.case import RunContext
from evals.judging.provenance import provenance_in
from evals.policy import CoveragePolicy
from evals.records import Unjudged, Window

MakeFact = Callable[..., GoldFact]
MakeRow = Callable[..., CoverageRow]
POLICY = CoveragePolicy()
REFUSED = Unjudged(reason="refused", detail="why")
LATE = Unjudged(reason="timeout", detail="why")

IMPORTANCE = {"C": "CRITICAL", "I": "IMPORTANT", "M": "MINOR", "T": "TRIVIAL"}
STATUS = {"+": "COVERED", "~": "PARTIAL", "-": "MISSING", "?": None}


@pytest.fixture
def facts(make_fact: MakeFact) -> Callable[..., tuple[GoldFact, ...]]:
    """``facts("C+ I~ M-i")``: importance, status, and ``i`` where it is implied."""

    def build(text: str, **changed: Any) -> tuple[GoldFact, ...]:
        return tuple(
            make_fact(
                f"g{number}",
                importance=IMPORTANCE[one[0]],
                status=STATUS[one[1]],
                covering=("c1",) if one[1] in "+~" else (),
                requires_inference=one.endswith("i"),
                **changed,
            )
            for number, one in enumerate(text.split(), 1)
        )

    return build


Facts = Callable[..., tuple[GoldFact, ...]]


@pytest.fixture
def make_row(make_window: Callable[..., Window], context: RunContext) -> MakeRow:
    provenance = provenance_in(context, make_window(), {}, ())

    def build(
        gold: Sequence[GoldFact] | None = (), *, window_id: str = "w1", **changed: Any
    ) -> CoverageRow:
        fields: dict[str, Any] = {
            "case_id": window_id,
            "outcome": "scored",
            "unjudged": None,
            "calls": (),
            "window_id": window_id,
            "conclusion_ids": ("c1",),
            "gold_source": "judge",
            "gold": gold,
            "dropped": (),
            "matching_unjudged": None,
            "questions": (),
            "questions_unjudged": None,
            "dropped_questions": 0,
            "conclusion_topics": None,
            "topics_unjudged": None,
        }
        assert set(changed) <= set(fields)
        if gold is None:
            fields |= {"outcome": "unjudged", "unjudged": REFUSED, "gold_source": None}
        values = fields | changed | {"kind": "window", "instrument": "coverage"}
        return CoverageRow(provenance=provenance, **values)

    return build


@pytest.mark.parametrize(
    ("gold", "earned", "weight", "n"),
    [
        ("C+", 4, 4, 1),
        ("C-", 0, 4, 1),
        ("C~", 2, 4, 1),
        ("C+ I+ M+", 7, 7, 3),
        ("C+ I- M-", 4, 7, 3),
        ("C- I- M+", 1, 7, 3),
        ("C~ I~ M~", 3.5, 7, 3),
        ("I+ I- I~ M+", 4, 7, 4),
        ("C+ T+ T- T~", 4, 4, 1),  # TRIVIAL is out, whatever its status
        ("C+ C-i I-i", 4, 4, 1),  # implied facts are another score
        ("C+ C?", 4, 4, 1),  # no status, no score
    ],
)
def test_coverage_is_the_weighted_share_of_explicit_facts(
    facts: Facts, make_row: MakeRow, gold: str, earned: float, weight: float, n: int
) -> None:
    share = coverage_summary([make_row(facts(gold))], POLICY).coverage_explicit
    assert (share.earned, share.weight, share.n) == (earned, weight, n)
    assert share.value == pytest.approx(earned / weight)


@pytest.mark.parametrize("gold", ["", "T+ T-", "C+i I-i", "C? I?"])
def test_without_a_scored_fact_coverage_is_null(facts: Facts, make_row: MakeRow, gold: str) -> None:
    share = coverage_summary([make_row(facts(gold))], POLICY).coverage_explicit
    assert (share.value, share.weight, share.n, share.low, share.high) == (None, 0, 0, None, None)


def test_implied_facts_are_scored_by_themselves(facts: Facts, make_row: MakeRow) -> None:
    summary = coverage_summary([make_row(facts("C-  C+i I-i M~i T+i"))], POLICY)
    assert summary.coverage_explicit.value == 0
    assert summary.coverage_implicit.value == pytest.approx(4.5 / 7)
    assert summary.coverage_implicit.n == 3


def test_weights_and_partial_credit_are_policy(facts: Facts, make_row: MakeRow) -> None:
    rows = [make_row(facts("C~ I+ M-"))]
    policy = CoveragePolicy(
        critical_weight=10, important_weight=5, minor_weight=0, partial_credit=0.1
    )
    share = coverage_summary(rows, policy).coverage_explicit
    assert (share.earned, share.weight, share.n) == (6, 15, 2)
    assert coverage_summary(rows, CoveragePolicy(partial_credit=0)).coverage_explicit.earned == 2


def test_facts_of_all_windows_are_pooled(facts: Facts, make_row: MakeRow) -> None:
    rows = [
        make_row(facts("C+ C+"), window_id="a"),
        make_row(facts("M-"), window_id="b"),
        make_row(facts(""), window_id="c"),
    ]
    share = coverage_summary(rows, POLICY).coverage_explicit
    assert (share.earned, share.weight, share.windows) == (8, 9, 2)
    assert share.value == pytest.approx(8 / 9)  # and not the mean of 1 and 0


def test_what_is_unjudged_is_counted_and_never_missing(facts: Facts, make_row: MakeRow) -> None:
    rows = [
        make_row(facts("C+ I-"), window_id="a"),
        make_row(
            facts("C? M? T? I?i"),
            window_id="b",
            outcome="unjudged",
            unjudged=LATE,
            matching_unjudged=LATE,
        ),
        make_row(None, window_id="c"),
    ]
    summary = coverage_summary(rows, POLICY)
    share = summary.coverage_explicit
    assert share.value == pytest.approx(4 / 6)
    assert (share.n, share.unjudged) == (2, 2)
    assert (share.windows, share.unjudged_windows) == (1, 1)
    assert (summary.coverage_implicit.value, summary.coverage_implicit.unjudged) == (None, 1)
    assert (summary.trivial_skipped_rate.value, summary.trivial_skipped_rate.unjudged) == (None, 1)
    assert (summary.coverage_unjudged_share.hits, summary.coverage_unjudged_share.n) == (2, 3)
    assert summary.unjudged_by_reason == {"refused": 1, "timeout": 1}
    assert summary.unjudged_by_step == {
        "gold": {"refused": 1},
        "matching": {"timeout": 1},
        "topics": {},
        "question_generation": {},
        "answering": {},
    }
    assert (summary.gold_by_importance.n, summary.gold_by_importance.unjudged) == (2, 1)


def test_a_run_without_a_single_answer_has_no_figure(make_row: MakeRow) -> None:
    row = make_row(None, questions=None, questions_unjudged=REFUSED)
    summary = coverage_summary([row], POLICY)
    values = [
        summary.coverage_explicit.value,
        summary.coverage_implicit.value,
        summary.trivial_skipped_rate.value,
        summary.qa_answerable_correct_rate.value,
        *[share.value for share in summary.coverage_by_importance.values()],
    ]
    assert values == [None] * 7
    assert summary.coverage_by_category == {}
    assert summary.coverage_unjudged_share.value == 1
    assert summary.topic_flags == ()
    assert (summary.gold_topics.n, summary.gold_topics.unjudged) == (0, 1)
    assert summary.unjudged_by_step["question_generation"] == {"refused": 1}


def test_no_row_at_all_is_no_error() -> None:
    summary = coverage_summary([], POLICY)
    assert (summary.windows, summary.coverage_explicit.value) == (0, None)
    assert summary.coverage_unjudged_share.value is None


def test_coverage_by_category_and_by_importance_split_the_explicit_facts(
    facts: Facts, make_row: MakeRow
) -> None:
    gold = (
        *facts("C+ I-", category="HEALTH"),
        *facts("I~ M+ T-", category="WORK"),
        *facts("C-i", category="PLAN"),
        *facts("T+", category="EVENT"),
        *facts("M?", category="HOME"),
    )
    summary = coverage_summary([make_row(gold)], POLICY)
    assert {
        name: (share.earned, share.weight) for name, share in summary.coverage_by_category.items()
    } == {"HEALTH": (4, 6), "WORK": (2, 3), "HOME": (0, 0)}
    assert list(summary.coverage_by_category) == ["HEALTH", "WORK", "HOME"]  # heaviest first
    assert summary.coverage_by_category["HOME"].unjudged == 1
    assert {
        name: (share.earned, share.weight) for name, share in summary.coverage_by_importance.items()
    } == {"CRITICAL": (4, 4), "IMPORTANT": (1, 4), "MINOR": (1, 1)}
    parts = summary.coverage_by_importance.values()
    assert sum(share.weight for share in parts) == summary.coverage_explicit.weight


def test_skipping_the_trivial_is_counted_apart(facts: Facts, make_row: MakeRow) -> None:
    summary = coverage_summary([make_row(facts("T- T-i T+ T~ C-"))], POLICY)
    assert (summary.trivial_skipped_rate.hits, summary.trivial_skipped_rate.n) == (2, 4)


def test_gold_is_counted_with_what_was_dropped(facts: Facts, make_row: MakeRow) -> None:
    dropped = [
        DroppedFact.model_validate({"fact": "f", "source_span": "s", "reason": one, "detail": "d"})
        for one in ("relative_time", "relative_time", "span_not_found", "no_inference")
    ]
    rows = [
        make_row(facts("C+ T-"), dropped=tuple(dropped), gold_source="audited"),
        make_row(facts("C-"), window_id="w2", conclusion_ids=()),
    ]
    summary = coverage_summary(rows, POLICY)
    assert (summary.windows, summary.gold_facts) == (2, 3)
    assert (summary.audited_windows, summary.windows_without_conclusions) == (1, 1)
    assert summary.gold_by_importance.counts == {"CRITICAL": 2, "TRIVIAL": 1}
    assert summary.dropped_facts == {"relative_time": 2, "no_inference": 1, "span_not_found": 1}
    assert summary.relative_time_refused == 2
    assert summary.relative_time_facts == 0


def test_relative_time_is_counted_again_in_the_rows(make_fact: MakeFact, make_row: MakeRow) -> None:
    gold = (
        make_fact("g1", fact="vince moved last year"),
        make_fact("g2", fact="vince moved in 2025"),
        make_fact("g3", fact="yesterday vince said that he moves next week"),
    )
    assert coverage_summary([make_row(gold)], POLICY).relative_time_facts == 2


def question(grade: str | None, unjudged: Unjudged | None = None) -> Question:
    return Question.model_validate(
        {
            "question_id": "q1",
            "question": "What?",
            "gold_answer": "that",
            "source_span": "that",
            "message_id": "m1",
            "written_answer": None,
            "conclusion_ids": (),
            "grade": grade,
            "graded_by": None,
            "why": None,
            "unjudged": unjudged,
        }
    )


def test_qa_rates_are_shares_of_graded_questions(make_row: MakeRow) -> None:
    right, wrong, none = "ANSWERABLE_CORRECT", "ANSWERABLE_WRONG", "UNANSWERABLE"
    rows = [
        make_row(
            questions=tuple(map(question, (right, right, wrong, none, none))), dropped_questions=2
        ),
        # Without gold the QA path stands all the same: it does not rest on it.
        make_row(None, window_id="b", questions=(question(right), question(None, LATE))),
        make_row(window_id="c", questions=None, questions_unjudged=REFUSED),
    ]
    summary = coverage_summary(rows, POLICY)
    rates = (
        summary.qa_answerable_correct_rate,
        summary.qa_answerable_wrong_rate,
        summary.qa_unanswerable_rate,
    )
    assert [rate.hits for rate in rates] == [3, 1, 2]
    assert {(rate.n, rate.unjudged) for rate in rates} == {(6, 1)}
    assert (summary.questions, summary.dropped_questions) == (7, 2)
    assert summary.windows_without_questions == 1
    assert summary.unjudged_by_step["answering"] == {"timeout": 1}
    assert summary.unjudged_by_step["question_generation"] == {"refused": 1}


def test_topics_count_the_facts_that_coverage_counts(make_row: MakeRow, facts: Facts) -> None:
    gold = (
        *facts("C+ I-", topic="health"),
        *facts("M-", topic="work"),
        *facts("T- C-i", topic="weather"),
    )
    rows = [
        make_row(gold, conclusion_topics={"c1": "work", "c2": "food"}),
        make_row(facts("C-", topic="work"), window_id="b", conclusion_topics={}),
        make_row(facts("C-"), window_id="c", topics_unjudged=LATE),
        make_row((), window_id="d", conclusion_ids=()),
    ]
    summary = coverage_summary(rows, POLICY)
    assert summary.gold_topics.counts == {"health": 2, "work": 2}
    assert (summary.gold_topics.n, summary.gold_topics.unjudged) == (3, 1)
    assert summary.conclusion_topics.counts == {"food": 1, "work": 1}
    assert [
        (flag.window_id, flag.kind, flag.topic, flag.share) for flag in summary.topic_flags
    ] == [("b", "absent", "work", 1), ("w1", "absent", "health", 2 / 3)]
    assert summary.unjudged_by_step["topics"] == {"timeout": 1}


def test_a_topic_of_another_window_neither_hides_nor_makes_a_flag(
    make_row: MakeRow, facts: Facts
) -> None:
    # Pooled, "work" has a conclusion and no topic is over 60 % of conclusions.
    diverse = (*facts("C-", topic="a"), *facts("C-", topic="b"), *facts("C-", topic="c"))
    rows = [
        make_row(facts("C-", topic="work"), window_id="x", conclusion_topics={"c1": "food"}),
        make_row((), window_id="y", conclusion_topics={"c2": "work", "c3": "pets"}),
        make_row(diverse, window_id="z", conclusion_topics={"c4": "a", "c5": "b", "c6": "c"}),
        make_row(
            diverse, window_id="zz", conclusion_topics={"1": "a", "2": "a", "3": "a", "4": "b"}
        ),
    ]
    flags = coverage_summary(rows, POLICY).topic_flags
    assert [(flag.window_id, flag.kind, flag.topic) for flag in flags] == [
        ("x", "absent", "work"),
        ("zz", "absent", "c"),
        ("zz", "dominant", "a"),
    ]


def test_the_order_of_rows_and_facts_changes_nothing(facts: Facts, make_row: MakeRow) -> None:
    chance = random.Random(7)
    kinds = [f"{one}{status}{rest}" for one in "CIMT" for status in "+~-" for rest in ("", "i")]
    policy = CoveragePolicy(critical_weight=0.1, important_weight=0.7, partial_credit=0.3)
    rows = [
        make_row(
            facts(" ".join(chance.choices(kinds, k=9)), topic="work"),
            window_id=f"w{number}",
            conclusion_topics={"c1": chance.choice(["work", "food"])},
        )
        for number in range(12)
    ]
    shuffled = [
        row.model_copy(update={"gold": tuple(chance.sample(row.gold or (), 9))})
        for row in chance.sample(rows, len(rows))
    ]
    assert coverage_summary(shuffled, policy) == coverage_summary(rows, policy)


def test_the_summary_survives_json(facts: Facts, make_row: MakeRow) -> None:
    summary = coverage_summary([make_row(facts("C+ I~"))], POLICY)
    assert type(summary).model_validate_json(summary.model_dump_json()) == summary

"""Topics: one vocabulary for facts and conclusions, and the signs of skew between the two."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evals.coverage.calls import PURPOSES
from evals.coverage.case import coverage_cases
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.row import GoldFact
from evals.coverage.topic_skew import topic_flags
from evals.coverage.topics import sort_by_topic
from evals.errors import InvalidOutputError
from evals.judging.asking import CallLog
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.policy import CoveragePolicy
from evals.records import Window
from tests.coverage.helpers import Reply, ScriptedJudge, inside

MakeWindow = Callable[..., Window]
MakeFact = Callable[..., GoldFact]
Sort = Callable[..., tuple[dict[str, str], ScriptedJudge]]


def first_word(request: JudgeRequest) -> dict[str, Any]:
    items = inside(request, "statements")
    topics = [{"item_id": one["item_id"], "topic": one["text"].split()[-1]} for one in items]
    return {"topics": topics[::-1]}  # any order will do


@pytest.fixture
def sort(
    make_window: MakeWindow, make_fact: MakeFact, prompts: CoveragePrompts, settings: JudgeSettings
) -> Sort:
    def run(
        reply: Reply | Callable[[JudgeRequest], Reply],
        *,
        facts: Sequence[str] = ("vince likes Food",),
        conclusions: Sequence[str] = ("vince has work",),
    ) -> tuple[dict[str, str], ScriptedJudge]:
        (case,) = coverage_cases([make_window(conclusions=conclusions)], prompts)
        gold = [make_fact(f"g{number}", fact=fact) for number, fact in enumerate(facts, 1)]
        judge = ScriptedJudge({"topics": reply})
        return asyncio.run(sort_by_topic(case, gold, CallLog(judge, PURPOSES), settings)), judge

    return run


def test_facts_and_conclusions_are_sorted_in_one_call(sort: Sort) -> None:
    topics, judge = sort(first_word)
    (request,) = judge.requests
    listed = inside(request, "statements")
    assert [item["text"] for item in listed] == ["vince likes Food", "vince has work"]
    assert topics == {"g1": "food", listed[1]["item_id"]: "work"}


def test_case_and_spaces_make_no_other_topic(sort: Sort) -> None:
    topics, _ = sort({"topics": [{"item_id": "g1", "topic": " Home  Life\n"}]}, conclusions=())
    assert topics == {"g1": "home life"}


def test_nothing_to_sort_costs_no_call(sort: Sort) -> None:
    topics, judge = sort(first_word, facts=(), conclusions=())
    assert (topics, judge.requests) == ({}, [])


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([], "left out: g1"),
        ([("g1", "food"), ("g1", "food")], "too many: g1"),
        ([("g1", "food"), ("g2", "food")], "too many: g2"),
        ([("g1", "  ")], "no topic for g1"),
    ],
)
def test_an_answer_that_does_not_sort_each_item_once_is_refused(
    sort: Sort, topics: list[tuple[str, str]], message: str
) -> None:
    reply = {"topics": [{"item_id": item_id, "topic": topic} for item_id, topic in topics]}
    with pytest.raises(InvalidOutputError, match=message):
        sort(reply, conclusions=())


POLICY = CoveragePolicy()  # absent over 20 %, dominant over 60 %, diverse from 3 topics on


@pytest.mark.parametrize(
    ("gold", "conclusions", "flagged"),
    [
        # 3 of 10 is over 20 %, 2 of 10 is not.
        ({"work": 5, "food": 3, "home": 2}, {"work": 5, "pets": 4}, [("absent", "food")]),
        ({"work": 5, "food": 3, "home": 2}, {"work": 1, "food": 1}, []),
        ({"work": 6, "food": 4}, {}, [("absent", "work"), ("absent", "food")]),
        # 7 of 10 is over 60 %, 6 of 10 is not.
        ({"work": 4, "food": 3, "home": 3}, {"work": 6, "food": 3, "home": 1}, []),
        (
            {"work": 4, "food": 3, "home": 3},
            {"work": 7, "food": 2, "home": 1},
            [("dominant", "work")],
        ),
        # Two topics are no diverse gold, so a dominant one says nothing.
        ({"work": 5, "food": 5}, {"work": 9, "food": 1}, []),
        # Of all the loudest a topic that gold does not even have.
        (
            {"work": 4, "food": 3, "home": 3},
            {"pets": 7, "work": 1, "food": 1, "home": 1},
            [("dominant", "pets")],
        ),
        ({}, {"work": 5}, []),
        ({}, {}, []),
    ],
)
def test_skew_is_flagged_over_its_threshold_and_not_at_it(
    gold: dict[str, int], conclusions: dict[str, int], flagged: list[tuple[str, str]]
) -> None:
    flags = topic_flags("w1", gold, conclusions, POLICY)
    assert [(flag.kind, flag.topic) for flag in flags] == flagged


def test_thresholds_are_policy_and_stand_in_the_flag() -> None:
    policy = CoveragePolicy(absent_topic_share=0.5, dominant_topic_share=0.4, diverse_topics=2)
    absent, dominant = topic_flags("w1", {"work": 3, "food": 2}, {"food": 1, "pets": 1}, policy)[:2]
    assert (absent.share, absent.threshold) == (0.6, 0.5)
    assert absent.text == "Topic 'work' has 3 of 5 gold facts, over 50%, and no conclusion."
    assert (dominant.share, dominant.threshold) == (0.5, 0.4)
    assert dominant.text == (
        "Topic 'food' has 1 of 2 conclusions, over 40%, while gold has 2 topics."
    )


def test_a_hostile_topic_cannot_write_to_the_terminal() -> None:
    (flag,) = topic_flags("w1", {"\x1b[31mred\n": 1}, {}, POLICY)
    assert "\x1b" not in flag.text
    assert "\n" not in flag.text

"""The search of earlier conversation for slots that the window leaves open."""

import json
from typing import Any

import pytest

from tests.premise.judging import REFUSED, Answers, MakeWindow, judge, missing, open_slots, settled
from tests.scripted import Reply


def test_the_attribution_search_settles_absent_slots_only(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    window = make_window(earlier=[("vince", "The bakery is Holt's"), ("may", "Nice")])
    row, scripted = judge(
        window,
        {
            "pass_1": pass_1(unknown_slots=open_slots("PLACE", "TIME")),
            "pass_2": pass_2(
                missing=missing(
                    ("PLACE", "ABSENT_EVERYWHERE"),
                    ("TIME", "PRESENT_IN_WINDOW"),
                    ("BOSS", "ABSENT_FROM_WINDOW"),
                )
            ),
            "attribution_search": settled(
                ("BOSS", False, ""), ("PLACE", True, "The bakery is Holt's")
            ),
        },
    )
    assert [(item.slot, item.attribution, item.evidence) for item in row.missing] == [
        ("PLACE", "ABSENT_FROM_WINDOW", "The bakery is Holt's"),
        ("TIME", "PRESENT_IN_WINDOW", "TIME in window"),
        ("BOSS", "ABSENT_EVERYWHERE", "BOSS in window"),
    ]
    assert (row.attribution_scope, row.attribution_unjudged) == ("conversation", None)
    assert row.calls[-1].purpose == "premise.attribution_search"
    (search,) = scripted.asked("attribution_search")
    lines = search.user.split("<open_slots>\n")[1].split("\n</open_slots>")[0].splitlines()
    assert [json.loads(line) for line in lines] == [
        {"slot": "PLACE", "why": "PLACE is open"},  # the blind reader's words
        {"slot": "BOSS", "why": "BOSS in window"},  # pass 2 alone opened it
    ]
    assert "The bakery is Holt's" in search.user
    assert "I start at the bakery on Monday" not in search.user
    # Pass 2's own reading stays on the row as it was given.
    assert row.pass_2 is not None
    assert row.pass_2.missing[0].attribution == "ABSENT_EVERYWHERE"


def test_slots_of_the_same_name_are_told_apart_by_their_order(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    row, _ = judge(
        make_window(earlier=["It was in May"]),
        {
            "pass_1": pass_1(unknown_slots=open_slots("TIME")),
            "pass_2": pass_2(missing=missing(*[("TIME", "ABSENT_EVERYWHERE")] * 2)),
            "attribution_search": settled(("TIME", False, ""), ("TIME", True, "in May")),
        },
    )
    assert [item.attribution for item in row.missing] == [
        "ABSENT_EVERYWHERE",
        "ABSENT_FROM_WINDOW",
    ]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (REFUSED, "refused"),
        ("{}", "invalid_output"),
        (settled(), "invalid_output"),
        (settled(("place", False, "")), "invalid_output"),
        (settled(("PLACE", False, ""), ("PLACE", False, "")), "invalid_output"),
        (settled(("PLACE", False, ""), ("TIME", False, "")), "invalid_output"),
        (settled(("PLACE", True, "  ")), "invalid_output"),
    ],
)
def test_without_a_usable_search_pass_2s_reading_stands(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers, reply: Reply, reason: str
) -> None:
    row, _ = judge(
        make_window(earlier=["Hello"]),
        {
            "pass_1": pass_1(unknown_slots=open_slots("PLACE")),
            "pass_2": pass_2(missing=missing(("PLACE", "ABSENT_FROM_WINDOW"))),
            "attribution_search": reply,
        },
    )
    assert row.outcome == "unsound"
    assert [item.attribution for item in row.missing] == ["ABSENT_FROM_WINDOW"]
    assert row.attribution_scope == "window"
    assert row.attribution_unjudged is not None
    assert row.attribution_unjudged.reason == reason


@pytest.mark.parametrize("read_as", ["ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE"])
def test_where_nothing_was_said_earlier_no_call_is_needed(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers, read_as: str
) -> None:
    row, scripted = judge(
        make_window(earlier=[]),
        {
            "pass_1": pass_1(unknown_slots=open_slots("PLACE")),
            "pass_2": pass_2(missing=missing(("PLACE", read_as))),
        },
    )
    assert [item.attribution for item in row.missing] == ["ABSENT_EVERYWHERE"]
    assert (row.attribution_scope, row.attribution_unjudged) == ("conversation", None)
    assert scripted.asked("attribution_search") == []


@pytest.mark.parametrize(
    ("earlier", "changed_1", "attribution"),
    [
        (None, {"unknown_slots": open_slots("PLACE")}, "ABSENT_FROM_WINDOW"),
        (["Hello"], {"unknown_slots": open_slots("PLACE")}, "PRESENT_IN_WINDOW"),
        (["Hello"], {}, "ABSENT_EVERYWHERE"),
    ],
    ids=["trace without the earlier conversation", "nothing absent", "sound"],
)
def test_the_search_is_not_made_where_it_could_settle_nothing(
    make_window: MakeWindow,
    pass_1: Answers,
    pass_2: Answers,
    *,
    earlier: list[str] | None,
    changed_1: dict[str, Any],
    attribution: str,
) -> None:
    row, scripted = judge(
        make_window(earlier=earlier),
        {
            "pass_1": pass_1(**changed_1),
            "pass_2": pass_2(missing=missing(("PLACE", attribution))),
        },
    )
    assert scripted.asked("attribution_search") == []
    assert [item.attribution for item in row.missing] == [attribution]
    assert row.attribution_scope == "window"


def test_slots_that_pass_2_does_not_mention_are_not_invented(
    make_window: MakeWindow, pass_1: Answers, pass_2: Answers
) -> None:
    row, scripted = judge(
        make_window(earlier=["Hello"]),
        {"pass_1": pass_1(unknown_slots=open_slots("TIME")), "pass_2": pass_2()},
    )
    assert row.outcome == "unsound"
    assert (row.missing, row.attribution_scope) == ((), None)
    assert len(scripted.requests) == 3

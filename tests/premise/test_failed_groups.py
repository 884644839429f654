"""Failed conclusions by what became of their open slots: each in one group, none left out."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from evals.premise.metrics import premise_summary
from evals.premise.row import ConclusionRow
from evals.records import Unjudged

Answers = Callable[..., dict[str, Any]]
MakeRow = Callable[..., ConclusionRow]


def failing_rows(
    make_row: MakeRow, pass_1: Answers, pass_2: Answers
) -> Callable[..., ConclusionRow]:
    def make(opened: str, *missing: tuple[str, str], **changes: Any) -> ConclusionRow:
        """Take the slots of pass 1, comma-separated, and the missing ones of pass 2."""
        slots = [{"slot": slot, "why": ""} for slot in opened.split(", ") if slot]
        answer = pass_1(unknown_slots=slots)
        row = make_row(answer, pass_2(force_preserved=False), missing=missing)
        return row.model_copy(update=changes)

    return make


PRESENT, FROM, EVERYWHERE = "PRESENT_IN_WINDOW", "ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE"


@pytest.mark.parametrize(
    ("opened", "missing", "group", "unattributed"),
    [
        ("", [], "no open slot", 0),
        ("TIME", [("TIME", PRESENT)], "PRESENT_IN_WINDOW only", 0),
        ("", [("TIME", PRESENT), ("PLACE", PRESENT)], "PRESENT_IN_WINDOW only", 0),
        ("TIME", [("TIME", FROM)], "ABSENT_FROM_WINDOW", 0),
        ("TIME", [("TIME", EVERYWHERE)], "ABSENT_EVERYWHERE", 0),
        ("TIME", [("TIME", PRESENT), ("PLACE", FROM)], "mixed", 0),
        ("TIME", [("TIME", EVERYWHERE), ("PLACE", FROM)], "mixed", 0),
        # Pass 2 does not repeat what pass 1 left open.
        ("TIME", [], "unattributed", 1),
        ("TIME, PLACE", [("TIME", PRESENT)], "PRESENT_IN_WINDOW only", 1),
        ("TIME", [("PLACE", FROM)], "ABSENT_FROM_WINDOW", 1),
        # Each as often as it comes, by its bare name.
        ("TIME, TIME, TIME", [("TIME", PRESENT)], "PRESENT_IN_WINDOW only", 2),
        ("UNKNOWN(Start time), place (which)", [("START_TIME", FROM), ("Place", FROM)], FROM, 0),
        ("start_time: when", [("Start-Time (of the trip)", FROM)], FROM, 0),
        ("TIME", [("START TIME", FROM)], FROM, 1),
    ],
)
def test_a_failed_conclusion_is_in_one_group(
    make_row: MakeRow,
    pass_1: Answers,
    pass_2: Answers,
    opened: str,
    missing: list[tuple[str, str]],
    group: str,
    unattributed: int,
) -> None:
    summary = premise_summary([failing_rows(make_row, pass_1, pass_2)(opened, *missing)])
    assert summary.failure_attribution_by_conclusion.counts == {group: 1}
    assert summary.unattributed_slots == unattributed
    assert summary.failed_without_open_slot == (group == "no open slot")
    assert sum(summary.failure_attribution_split.counts.values()) == len(missing)


def test_the_groups_of_failed_conclusions_sum_to_them(
    make_row: MakeRow, pass_1: Answers, pass_2: Answers
) -> None:
    fail = failing_rows(make_row, pass_1, pass_2)
    rng = random.Random(3)
    rows = [
        fail(
            ", ".join(rng.sample(["TIME", "PLACE", "WHO"], rng.randint(0, 3))),
            *((slot, rng.choice([PRESENT, FROM, EVERYWHERE])) for slot in ("TIME", "X")[: n % 3]),
        )
        for n in range(40)
    ]
    rows += [make_row(pass_1(), pass_2(), missing=[("TIME", FROM)]), make_row(pass_1(), None)]
    groups = premise_summary(rows).failure_attribution_by_conclusion
    assert len(groups.counts) == 6
    assert (sum(groups.counts.values()), groups.n, groups.unjudged) == (40, 40, 1)


def test_a_search_without_an_answer_is_counted_by_its_reason(
    make_row: MakeRow, pass_1: Answers, pass_2: Answers
) -> None:
    fail = failing_rows(make_row, pass_1, pass_2)
    searches = ["timeout", "refused", "timeout", None]
    rows = [
        fail(
            "TIME",
            ("TIME", FROM),
            attribution_scope="window",
            attribution_unjudged=None
            if reason is None
            else Unjudged.model_validate({"reason": reason, "detail": ""}),
        )
        for reason in searches
    ]
    summary = premise_summary(rows)
    assert summary.attribution_unjudged_by_reason == {"timeout": 2, "refused": 1}
    assert summary.attribution_scope.counts == {"window": 4}

"""What must follow when a batch changes in a known way, through a judge that groups equal texts."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evals.judging.request import JudgeRequest
from evals.records import Window
from evals.set_level.metrics import SetLevelSummary, set_level_summary
from evals.set_level.row import SetLevelRow

MakeWindow = Callable[..., Window]
JudgeWindow = Callable[..., tuple[SetLevelRow, list[JudgeRequest]]]

TEXTS = ["vince rows", "vince sings", "vince rows", "vince is in Oslo", "vince is in Rome"]


def group_equal_texts(request: JudgeRequest) -> dict[str, Any]:
    """Group equal texts, and take two cities for a contradiction."""
    lines = request.user.split("<conclusions>\n")[1].split("\n</conclusions>")[0].splitlines()
    by_text: dict[str, list[str]] = {}
    for item in map(json.loads, lines):
        by_text.setdefault(item["text"], []).append(item["conclusion_id"])
    found = [("REDUNDANCY", "HIGH", ids) for ids in by_text.values() if len(ids) > 1]
    cities = [ids[0] for text, ids in by_text.items() if " is in " in text]
    if len(cities) > 1:
        found.append(("TEMPORAL_CONFUSION", "MEDIUM", cities))
    issues = [
        {"kind": kind, "severity": severity, "conclusion_ids": ids, "evidence": "so it is"}
        for kind, severity, ids in found
    ]
    return {"set_issues": issues}


def sorted_row(row: SetLevelRow) -> dict[str, Any]:
    """Return the row without the order of its lists, and without what the request's text sets."""
    assert row.issues is not None
    issues = [
        item.model_dump() | {"conclusion_ids": sorted(item.conclusion_ids)} for item in row.issues
    ]
    return row.model_dump(exclude={"calls"}) | {
        "conclusion_ids": sorted(row.conclusion_ids),
        "issues": sorted(issues, key=lambda item: item["conclusion_ids"]),
        "string_repeats": sorted(sorted(group) for group in row.string_repeats),
    }


def shuffled(window: Window, rng: random.Random) -> Window:
    conclusions = rng.sample(window.conclusions, len(window.conclusions))
    return window.model_copy(update={"conclusions": tuple(conclusions)})


@pytest.fixture
def summary_of(
    make_window: MakeWindow, judge_window: JudgeWindow
) -> Callable[[Sequence[str]], SetLevelSummary]:
    def summarized(texts: Sequence[str]) -> SetLevelSummary:
        row, _ = judge_window(make_window(texts), group_equal_texts)
        return set_level_summary([row])

    return summarized


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("copied", range(5))
def test_adding_a_duplicate_raises_redundancy_and_nothing_else(
    summary_of: Callable[[Sequence[str]], SetLevelSummary], copied: int, place: int
) -> None:
    before = summary_of(TEXTS)
    after = summary_of([*TEXTS[:place], TEXTS[copied], *TEXTS[place:]])
    for name in ("redundancy_rate", "string_redundancy_rate"):
        one, other = getattr(before, name), getattr(after, name)
        assert (one.hits, one.n) == (1, 5)
        assert (other.hits, other.n) == (2, 6)
        assert other.value > one.value
    assert after.contradictions_per_window.value == 1
    assert after.string_repeats_missed_by_judge == 0


def test_more_copies_are_one_larger_group(
    summary_of: Callable[[Sequence[str]], SetLevelSummary],
) -> None:
    for copies in range(2, 6):
        summary = summary_of(["vince sings", *["vince rows"] * copies])
        assert summary.redundancy_groups_by_size.counts == {str(copies): 1}
        assert (summary.redundancy_rate.hits, summary.redundancy_rate.n) == (copies - 1, copies + 1)


def test_without_repeats_nothing_is_redundant(
    summary_of: Callable[[Sequence[str]], SetLevelSummary],
) -> None:
    summary = summary_of(["vince rows", "vince sings"])
    assert (summary.redundancy_rate.value, summary.string_redundancy_rate.value) == (0, 0)


def test_shuffling_the_batch_changes_nothing(
    make_window: MakeWindow, judge_window: JudgeWindow
) -> None:
    rng = random.Random(9)
    window = make_window([*TEXTS, *TEXTS[:2], "Vince rows."])
    row, _ = judge_window(window, group_equal_texts)
    without_tokens = {"tokens": True}
    wanted = set_level_summary([row]).model_dump(exclude=without_tokens)
    assert wanted["redundancy_rate"]["hits"] == 3
    assert wanted["string_repeats_missed_by_judge"] == 3  # "Vince rows." with each of three
    orders = set()
    for _ in range(10):
        other, requests = judge_window(shuffled(window, rng), group_equal_texts)
        assert set_level_summary([other]).model_dump(exclude=without_tokens) == wanted
        assert sorted_row(other) == sorted_row(row)
        orders.add(requests[0].user)
    assert len(orders) > 1


@pytest.mark.parametrize("size", [1, 2, 3, 40, 500])
def test_at_most_one_call_a_batch(
    make_window: MakeWindow, judge_window: JudgeWindow, size: int
) -> None:
    window = make_window([f"vince did {n % 30}" for n in range(size)])
    row, requests = judge_window(window, group_equal_texts)
    assert len(requests) == len(row.calls) == min(size - 1, 1)
    assert row.outcome == "scored"


def test_a_judge_that_misses_every_repeat_is_found_out(
    make_window: MakeWindow, judge_window: JudgeWindow
) -> None:
    row, _ = judge_window(make_window(TEXTS), {"set_issues": []})
    summary = set_level_summary([row])
    assert summary.redundancy_rate.hits == 0
    assert summary.string_redundancy_rate.hits == 1
    assert (summary.string_repeat_pairs, summary.string_repeats_missed_by_judge) == (1, 1)

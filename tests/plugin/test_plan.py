"""``--plan``: its numbers against what the run after it really sends."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, Finished, MakeTrace

PREMISE = "evals/premise"
_NOW = re.compile(r"^([a-z_]+\.[a-z0-9_]+) +([\d,]+) +([\d,]+) +([\d,]+)(?: |$)")
_LATER = re.compile(r"^([a-z_]+\.[a-z0-9_]+) +([\d,]+) +([\d,]+) +(?:<= )?\d")


@dataclass
class Planned:
    """What the table says."""

    needed: dict[str, int]
    stored: dict[str, int]
    missing: dict[str, int]
    later: dict[str, tuple[int, int]]
    now: int
    least: int
    most: int


def number(text: str) -> int:
    return int(text.replace(",", ""))


def read(run: Finished) -> Planned:
    assert run.code == 0, run.output
    text = run.output[run.output.index("\nplan: ") :]
    table, _, after = text.partition("then, as these are answered")
    now = [found for line in table.splitlines() if (found := _NOW.match(line))]
    later = [found for line in after.splitlines() if (found := _LATER.match(line))]
    flat = " ".join(text.split())
    sums = re.search(
        r"Calls to make: ([\d,]+) now; in all (?:at least ([\d,]+) and at most )?([\d,]+) call",
        flat,
    )
    counts = (0, 0, 0)
    if sums is not None:
        most = number(sums[3])
        counts = (number(sums[1]), number(sums[2]) if sums[2] else most, most)
    return Planned(
        needed={found[1]: number(found[2]) for found in now},
        stored={found[1]: number(found[3]) for found in now},
        missing={found[1]: number(found[4]) for found in now},
        later={found[1]: (number(found[2]), number(found[3])) for found in later},
        now=counts[0],
        least=counts[1],
        most=counts[2],
    )


def sent_by_purpose(run: Finished) -> dict[str, int]:
    found: dict[str, int] = {}
    calls = {call["request_hash"]: call for row in run.rows for call in row["calls"]}
    for call in calls.values():
        if call["source"] == "live":
            found[call["purpose"]] = found.setdefault(call["purpose"], 0) + 1
    return found


def check(planned: Planned, run: Finished, api: MessagesApi) -> None:
    """Check a plan against the run after it: the first round exactly, the rest within bounds."""
    sent = sent_by_purpose(run)
    assert api.counts()["posts"] == sum(sent.values())
    assert planned.least <= sum(sent.values()) <= planned.most
    assert planned.now == sum(planned.missing.values())
    for purpose in {*sent, *planned.missing, *planned.later}:
        known = planned.missing.get(purpose, 0)
        least, most = planned.later.get(purpose, (0, 0))
        assert known + least <= sent.get(purpose, 0) <= known + most, purpose


def test_a_plan_tells_what_the_run_after_it_sends(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(4, 3))
    arguments = ("evals/", "--traces", trace)
    planned = read(evaluations.run(*arguments, "--plan", api=messages_api))
    assert messages_api.counts()["posts"] == 0
    assert planned.stored == dict.fromkeys(planned.missing, 0)
    assert planned.missing == {
        "premise.pass_1": 12,
        "premise.minimality": 4,
        "set_level.judge": 4,
        "coverage.gold": 4,
        "coverage.question_generation": 4,
    }
    assert planned.later["premise.pass_2"] == (12, 12)
    assert planned.later["coverage.topics"] == (4, 4)
    assert planned.later["coverage.answering"] == (0, 20)

    run = evaluations.run(*arguments, api=messages_api)
    assert run.code == 0, run.output
    check(planned, run, messages_api)

    whole = evaluations.run(*arguments, "--plan", api=messages_api)
    assert "Every answer is stored: the run would make no call." in whole.output
    done = read(whole)
    assert done.needed == done.stored == sent_by_purpose(run)
    assert set(done.missing.values()) == {0}


@pytest.mark.parametrize("calls", [7, 45])
def test_a_plan_of_the_rest_after_a_budget_ran_out(
    calls: int, evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = ("evals/", "--traces", str(make_trace(3, 4)))
    first = evaluations.run(*arguments, "--max-calls", str(calls), api=messages_api)
    assert first.code == 1, first.output
    planned = read(evaluations.run(*arguments, "--plan", api=messages_api))
    assert sum(planned.stored.values()) == calls
    messages_api.reset()
    run = evaluations.run(*arguments, api=messages_api)
    assert run.code == 0, run.output
    check(planned, run, messages_api)


def test_conclusions_that_ask_the_same_are_counted_once(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi, tmp_path: Path
) -> None:
    trace = make_trace(2, 3)
    twice = tmp_path / "twice.jsonl"
    text = re.sub(r"planted tree \d of window \d", "planted a tree", trace.read_text("utf-8"))
    twice.write_text(text, encoding="utf-8")
    arguments = (PREMISE, "--traces", str(twice))
    planned = read(evaluations.run(*arguments, "--plan", api=messages_api))
    assert planned.missing["premise.pass_1"] == 1
    least, most = planned.later["premise.pass_2"]
    assert (least, most) == (2, 6)
    run = evaluations.run(*arguments, api=messages_api)
    check(planned, run, messages_api)


def test_a_plan_needs_no_key_leaves_nothing_behind_and_fits_80_columns(
    evaluations: Evaluations, make_trace: MakeTrace
) -> None:
    trace = str(make_trace(2, 3))
    run = evaluations.run("evals/", "--traces", trace, "--judge", "live", "--plan")
    planned = read(run)
    assert planned.now == 14
    assert "judge claude-sonnet-5-5" in run.output
    flat = " ".join(run.output.split())
    assert re.search(r"Cost: about \$\d+\.\d\d to \$\d+\.\d\d in single calls, ", flat)
    assert re.search(r"as long as is allowed, single calls would be \$\d+\.\d\d\.", flat)
    assert "the same that --max-tokens and --max-cost go by" in flat
    assert "prices of" in run.output
    assert "Judge a few items first (-k, or --max-calls)" in run.output
    assert not evaluations.store.exists()
    assert not (evaluations.folder / "reports").exists()
    table = run.output[run.output.index("\nplan: ") :].split("====")[0]
    assert max(map(len, table.splitlines())) <= 80


def test_answers_to_the_same_prompts_make_the_estimate_that_of_what_the_run_costs(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(8, 8)))
    first = evaluations.run(*arguments, "-k", "w0000", api=messages_api)
    assert first.code == 0, first.output
    planned = evaluations.run(*arguments, "--plan", api=messages_api)
    assert "Judge a few items first" not in planned.output
    assert "as long as is allowed" not in planned.output
    flat = " ".join(planned.output.split())
    found = re.search(r"Cost: about \$([\d.]+) in single calls, \$([\d.]+) in batches", flat)
    assert found is not None, planned.output
    run = evaluations.run(*arguments, api=messages_api)
    assert float(found[1]) == pytest.approx(run.info["cost_usd"], rel=0.05, abs=0.01)
    assert float(found[2]) == pytest.approx(run.info["cost_usd"] / 2, rel=0.05, abs=0.01)


def test_a_selection_is_planned_alone(evaluations: Evaluations, make_trace: MakeTrace) -> None:
    trace = str(make_trace(3, 3))
    arguments = (PREMISE, "--traces", trace, "--judge", "live", "--plan", "-k", "w0001")
    planned = read(evaluations.run(*arguments))
    assert planned.missing == {"premise.pass_1": 3, "premise.minimality": 1}


def test_a_recorded_run_is_planned_too_and_says_that_it_makes_no_call(
    evaluations: Evaluations, make_trace: MakeTrace
) -> None:
    run = evaluations.run(PREMISE, "--traces", str(make_trace(1, 2)), "--plan")
    assert read(run).missing["premise.pass_1"] == 2
    flat = " ".join(run.output.split())
    assert "Cost: unknown, no price for unknown-claude in pyproject.toml." in flat
    assert "makes no call. --judge live and --judge batch do" in flat


def test_the_gallery_is_planned(evaluations: Evaluations) -> None:
    planned = read(evaluations.run("calibration/", "--judge", "live", "--plan"))
    specimens = planned.missing["premise.pass_1"]
    assert planned.later["premise.pass_2"] == (specimens, specimens)


def test_a_plan_under_xdist_is_a_mistake_that_says_so(evaluations: Evaluations) -> None:
    run = evaluations.run(PREMISE, "--plan", "-n", "2")
    assert run.code == 4
    assert "--plan: found -n beside it" in run.output


def test_a_plan_and_an_export_together_are_a_mistake(
    evaluations: Evaluations, tmp_path: Path
) -> None:
    run = evaluations.run(PREMISE, "--plan", "--export-requests", str(tmp_path / "out"))
    assert run.code == 4
    assert "--plan: found --export-requests beside it" in run.output


def test_collecting_alone_plans_nothing(evaluations: Evaluations) -> None:
    run = evaluations.run(PREMISE, "--plan", "--collect-only", "-q")
    assert run.code == 0
    assert "plan:" not in run.output

"""Budgets and cost in whole runs against a local server, which counts what it is asked."""

import pytest

from evals.defaults import DEFAULT_JUDGE_MODEL
from evals.judging.prices import TokenCounts, load_prices
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, Finished, MakeTrace

PREMISE = "evals/premise"
CALLS = 6 * (2 * 8 + 1)
"""Of six windows with eight conclusions each: two passes a conclusion, one minimality a window."""


def undisturbed(evaluations: Evaluations, trace: str, api: MessagesApi) -> Finished:
    other = Evaluations(evaluations.folder / "undisturbed")
    other.folder.mkdir()
    run = other.run(PREMISE, "--traces", trace, api=api)
    assert run.code == 0, run.output
    return run


def tokens_used(run: Finished) -> int:
    return sum(run.info["tokens_bought"].values())


def by_hand_usd(run: Finished, source: str = "live") -> float:
    """Return the cost of a run's calls from one source, each once, from its rows."""
    calls = {call["request_hash"]: call for row in run.rows for call in row["calls"]}
    prices = load_prices()
    total = 0.0
    for call in calls.values():
        names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
        tokens = TokenCounts(*(call[name] for name in names))
        cost = prices.cost_usd(call["model_served"], tokens, in_batch=False)
        assert cost is not None
        total += cost * (call["source"] == source)
    return total


def test_max_calls_is_exact_under_64_in_flight_and_a_larger_one_goes_on(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(6, 8))
    messages_api.reset(latency_s=0.05)
    first = evaluations.run(PREMISE, "--traces", trace, "--max-calls", "40", api=messages_api)
    counts = messages_api.counts()
    assert counts["posts"] == 40
    assert counts["max_in_flight"] > 8
    assert first.code == 1, first.output
    assert first.info["calls_sent"] == first.info["answers_bought"] == 40
    assert first.info["budget_ran_out"] == "--max-calls 40: 40 sent"
    assert first.info["limits"]["max_calls"] == 40
    premise = first.summary["premise"]
    # Two windows of 17 calls; of the third one conclusion for 3, one for 2, and a call left over.
    assert premise["unjudged_by_reason"] == {"budget": 6 * 8 - (2 * 8 + 2)}
    assert premise["tokens"]["calls_by_source"] == {"live": 40}
    assert "BUDGET USED UP (--max-calls 40: 40 sent)" in first.output
    assert "first budget" in first.output

    messages_api.reset()
    rest = str(CALLS - 40)
    second = evaluations.run(PREMISE, "--traces", trace, "--max-calls", rest, api=messages_api)
    assert messages_api.counts()["posts"] == CALLS - 40
    assert second.code == 0, second.output
    assert second.info["budget_ran_out"] is None
    whole = undisturbed(evaluations, trace, messages_api)
    assert second.summary["premise"]["pass_rate"] == whole.summary["premise"]["pass_rate"]
    verdicts = [[row["verdict"] for row in run.rows] for run in (second, whole)]
    assert verdicts[0] == verdicts[1]


def test_max_calls_is_exact_under_xdist_too(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(3, 4)), "--max-calls", "9", "-n", "2")
    run = evaluations.run(*arguments, api=messages_api)
    assert messages_api.counts()["posts"] == run.info["calls_sent"] == 9
    assert run.code == 1, run.output
    assert len(run.rows) == 12


def test_a_call_that_takes_several_attempts_is_one(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset("http_500:0.5", headers={"retry-after-ms": "5"})
    arguments = (PREMISE, "--traces", str(make_trace(2, 3)), "--max-calls", "14")
    run = evaluations.run(*arguments, api=messages_api)
    assert run.code == 0, run.output
    assert run.info["calls_sent"] == 14
    assert messages_api.counts()["posts"] == run.info["http_attempts"] > 14


@pytest.mark.parametrize("what", ["--max-tokens", "--max-cost"])
def test_tokens_and_cost_stop_near_their_limit(
    what: str, evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(6, 8))
    whole = undisturbed(evaluations, trace, messages_api)
    messages_api.reset(latency_s=0.02)
    if what == "--max-tokens":
        limit: float = round(tokens_used(whole) * 0.6)
    else:
        limit = whole.info["cost_usd"] * 0.6
    run = evaluations.run(PREMISE, "--traces", trace, what, str(limit), api=messages_api)
    used = tokens_used(run) if what == "--max-tokens" else run.info["cost_usd"]
    # What it can miss by: one call that no longer fits, and calls that exceed their estimate.
    assert limit * 0.85 < used < limit * 1.1
    assert run.code == 1, run.output
    assert run.info["budget_ran_out"].startswith(f"{what} ")
    assert set(run.summary["premise"]["unjudged_by_reason"]) == {"budget"}
    assert 0.5 < 1 - run.summary["premise"]["unjudged_by_reason"]["budget"] / 48 <= 0.65
    assert messages_api.counts()["posts"] == run.info["calls_sent"] < CALLS
    messages_api.reset()
    again = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    assert again.code == 0, again.output
    assert messages_api.counts()["posts"] == CALLS - run.info["calls_sent"]


def test_the_cost_is_that_of_each_live_answer_once(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(2, 3))
    run = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    info = run.info
    assert info["judge_model"] == DEFAULT_JUDGE_MODEL
    assert info["cost_usd"] == pytest.approx(by_hand_usd(run))
    assert info["cost_unknown_why"] is None
    assert info["prices_as_of"] == load_prices().as_of.isoformat()
    tokens = run.summary["premise"]["tokens"]
    assert info["tokens_bought"]["output"] == tokens["output_tokens"]
    assert info["tokens_bought"]["cache_read"] == tokens["cache_read_tokens"]
    line = f"cost: ${info['cost_usd']:.2f} (prices of {info['prices_as_of']}; 14 calls,"
    assert line in run.output
    page = (run.run_dir / "report.html").read_text("utf-8")
    assert f"${info['cost_usd']:.2f} (prices of" in page

    again = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    assert (again.info["cost_usd"], again.info["answers_bought"]) == (0.0, 0)
    assert "cost: no calls" in again.output


def test_a_batch_run_costs_half_and_keeps_to_its_budget(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    batch = ("--judge", "batch", "--batch-poll-s", "0.05")
    arguments = (PREMISE, "--traces", str(make_trace(2, 3)), *batch)
    first = evaluations.run(*arguments, "--max-calls", "5", api=messages_api)
    assert first.code == 1, first.output
    assert first.info["calls_sent"] == first.info["answers_bought"] == 5
    assert first.info["budget_ran_out"] == "--max-calls 5: 5 sent"
    assert first.summary["premise"]["unjudged_by_reason"] == {"budget": 4}
    rest = evaluations.run(*arguments, api=messages_api)
    assert rest.code == 0, rest.output
    assert rest.info["calls_sent"] == 9
    for run in (first, rest):
        assert run.info["cost_usd"] == pytest.approx(by_hand_usd(run, "batch") / 2)
        assert run.info["cost_usd"] > 0


def test_an_answer_that_cannot_be_used_was_paid_for_all_the_same(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset("truncated:1.0")
    run = evaluations.run(PREMISE, "--traces", str(make_trace(1, 3)), api=messages_api)
    assert run.code == 1
    assert run.info["answers_bought"] == 4
    assert run.info["cost_usd"] == pytest.approx(by_hand_usd(run))
    assert run.info["cost_usd"] > 0


def test_without_a_price_the_cost_is_null_and_says_why(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = (PREMISE, "--traces", str(make_trace(1, 2)), "--judge-model", "claude-unheard-of")
    run = evaluations.run(*arguments, api=messages_api)
    assert run.code == 0, run.output
    assert run.info["cost_usd"] is None
    assert run.info["cost_unknown_why"] == "no price for claude-unheard-of in pyproject.toml"
    assert "cost: unknown: no price for claude-unheard-of in pyproject.toml" in run.output

    messages_api.reset()
    limited = evaluations.run(*arguments, "--max-cost", "1", api=messages_api)
    assert limited.code == 4
    assert "--max-cost: found no price for 'claude-unheard-of'" in limited.output
    assert "tool.conclusion-evals.prices.models" in limited.output
    assert messages_api.counts()["posts"] == 0


@pytest.mark.parametrize("option", ["--max-calls", "--max-tokens", "--max-cost"])
def test_a_negative_budget_is_a_mistake(option: str, evaluations: Evaluations) -> None:
    run = evaluations.run(PREMISE, option, "-1")
    assert run.code == 4
    assert f"{option}: found -1" in run.output


def test_a_budget_of_nothing_judges_what_is_stored_and_sends_nothing(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(2, 3))
    stored = evaluations.run(
        PREMISE, "--traces", trace, "-k", "w0000", "--max-calls", "7", api=messages_api
    )
    assert stored.code == 0, stored.output
    messages_api.reset()
    run = evaluations.run(
        *(PREMISE, "--traces", trace, "--max-calls", "0", "--allow-unjudged", "0.5"),
        api=messages_api,
    )
    assert run.code == 0, run.output
    assert messages_api.counts()["posts"] == 0
    assert run.summary["premise"]["unjudged_by_reason"] == {"budget": 3}

"""What a run cost, in words: known, unknown, nothing; and its budget."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evals.config import NO_LIMITS
from evals.report.cost import budget_text, cost_text, dollars, sent_text, short, tokens_text
from evals.report.terminal import ReportPaths, summary_lines
from evals.runs.bought import TokensBought
from evals.runs.record import RunInfo
from evals.runs.summary import summarize

MakeInfo = Callable[..., RunInfo]
TOKENS = TokensBought(input=200_000, cache_read=960_000, cache_write=40_000, output=30_400)


def bought(make_info: MakeInfo, **changes: Any) -> RunInfo:
    values: dict[str, Any] = {
        "counts_are": "exact",
        "calls_sent": 412,
        "calls_sent_again": 0,
        "http_attempts": 415,
        "answers_bought": 411,
        "calls_taken_up": 0,
        "tokens_bought": TOKENS,
        "cost_usd": 1.2345,
        "cost_unknown_why": None,
        "prices_as_of": date(2026, 11, 30),
    }
    return make_info(**values | changes)


def test_a_known_cost_names_its_prices_calls_and_tokens(make_info: MakeInfo) -> None:
    assert cost_text(bought(make_info)) == (
        "$1.23 (prices of 2026-11-30; 412 calls, 1.2 M tokens in of which 80 % read from cache,"
        " 30 k out)"
    )


def test_counts_of_a_judge_that_was_killed_are_told_as_lower_bounds(make_info: MakeInfo) -> None:
    changes = {"cost_usd": None, "cost_unknown_why": "it was killed", "counts_are": "at_least"}
    info = bought(make_info, **changes)
    assert sent_text(info) == "at least 412 calls, 415 HTTP attempts"
    assert cost_text(info).startswith("unknown: it was killed (at least 412 calls, 1.2 M tokens")
    nothing = TokensBought(input=0, cache_read=0, cache_write=0, output=0)
    none = bought(make_info, **changes, calls_sent=0, answers_bought=0, tokens_bought=nothing)
    assert cost_text(none) == "unknown: it was killed (at least 0 calls)"


def test_counts_that_nobody_could_tell_are_told_as_unknown(make_info: MakeInfo) -> None:
    assert sent_text(make_info()) == "unknown"
    assert cost_text(make_info()) == "unknown: the run did not come to its end"


def test_an_unknown_cost_says_why_and_shows_no_dollars(make_info: MakeInfo) -> None:
    why = "no price for claude-x in pyproject.toml"
    text = cost_text(bought(make_info, cost_usd=None, cost_unknown_why=why))
    assert text.startswith(f"unknown: {why} (412 calls, 1.2 M tokens in")
    assert "$" not in text


def test_a_run_on_stored_answers_made_no_calls(make_info: MakeInfo) -> None:
    nothing = TokensBought(input=0, cache_read=0, cache_write=0, output=0)
    info = bought(make_info, calls_sent=0, answers_bought=0, tokens_bought=nothing, cost_usd=0.0)
    assert cost_text(info) == "no calls"
    assert tokens_text(info) == ""


def test_answers_to_an_earlier_runs_batch_are_a_cost_without_a_call(make_info: MakeInfo) -> None:
    info = bought(make_info, calls_sent=0, calls_taken_up=411)
    assert cost_text(info).startswith(
        "$1.23 (prices of 2026-11-30; 0 calls and the answers to 411 of an earlier run, 1.2 M"
    )
    assert sent_text(info) == "0 calls, 415 HTTP attempts"


def test_calls_that_were_sent_again_are_told_beside_the_others(make_info: MakeInfo) -> None:
    info = bought(make_info, calls_sent_again=1_203)
    assert sent_text(info) == "412 calls, 1,203 sent again, 415 HTTP attempts"


@pytest.mark.parametrize("changes", [{"cost_usd": None}, {"cost_unknown_why": "no price"}])
def test_a_cost_is_null_exactly_where_a_reason_stands(
    changes: dict[str, Any], make_info: MakeInfo
) -> None:
    with pytest.raises(ValueError, match="cost_usd is null exactly where"):
        bought(make_info, **changes)


@pytest.mark.parametrize(
    ("cost_usd", "text"),
    [
        (0.0, "$0.00"),
        (0.00001, "under $0.01"),
        (0.00999, "under $0.01"),
        (0.01, "$0.01"),
        (1234.567, "$1,234.57"),
    ],
)
def test_dollars_are_rounded_to_cents_and_never_to_nothing(cost_usd: float, text: str) -> None:
    assert dollars(cost_usd) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (950, "950"),
        (1_000, "1.0 k"),
        (9_949, "9.9 k"),
        (9_960, "10 k"),
        (30_400, "30 k"),
        (999_499, "999 k"),
        (999_500, "1.0 M"),
        (1_234_567, "1.2 M"),
        (45_600_000, "46 M"),
        (2_000_000_000, "2.0 G"),
    ],
)
def test_counts_of_tokens_keep_two_digits(value: int, text: str) -> None:
    assert short(value) == text


def test_a_budget_says_what_was_allowed_and_what_ran_out(make_info: MakeInfo) -> None:
    assert budget_text(make_info()) == "none set"
    limits = NO_LIMITS.model_copy(
        update={"max_calls": 1, "max_tokens": 2_000_000, "max_cost_usd": 2.5}
    )
    info = make_info(limits=limits, budget_ran_out="--max-calls 1: 1 sent")
    assert budget_text(info) == (
        "1 call, 2,000,000 tokens, $2.50; BUDGET USED UP (--max-calls 1: 1 sent): nothing more was"
        " sent"
    )


def test_a_budget_that_bought_nothing_was_too_small(make_info: MakeInfo) -> None:
    changes = {"calls_sent": 0, "answers_bought": 0, "budget_ran_out": "--max-calls 0: 0 sent"}
    info = bought(make_info, **changes)
    assert budget_text(info) == (
        "none set; BUDGET TOO SMALL (--max-calls 0: 0 sent): nothing was sent; --plan says how much"
        " is needed"
    )


def test_the_terminal_says_both_within_its_width(make_info: MakeInfo) -> None:
    info = bought(make_info, budget_ran_out="--max-cost 1.25: $1.2345 spent")
    lines = summary_lines(info, summarize([]), ReportPaths(Path("reports/x"), None, None))
    text = " ".join(lines)
    assert "BUDGET USED UP (--max-cost 1.25: $1.2345 spent): nothing more was sent" in text
    assert "cost: $1.23 (prices of 2026-11-30; 412 calls, 1.2 M tokens in of which 80 %" in text
    assert max(map(len, lines)) <= 80

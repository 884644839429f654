"""``--plan``: what a run would need, told without a call."""

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path

from evals.config import RunConfig
from evals.judging.case import Case, RunContext
from evals.judging.engine import JudgeEngine
from evals.judging.estimates import CHARS_PER_TOKEN
from evals.judging.needs import Span
from evals.judging.planning import Lacking, Plan, Planner
from evals.judging.prices import PriceTable
from evals.judging.recordings import Recordings
from evals.judging.store import AnswerStore
from evals.report import numbers
from evals.report.cost import dollars, short
from evals.report.terminal_text import wrapped
from evals.untrusted import for_terminal

WIDTH = 80


def plan_of(
    config: RunConfig, cases: Iterable[Case], context: RunContext, prices: PriceTable
) -> Plan:
    """Return what evaluating ``cases`` would need beyond the answers that there are.

    Nothing is sent, and nothing written: where there is no store none is made.

    Raises:
        EvalError: store, recordings or a case cannot be read, or a blind request leaks.
    """
    with tempfile.TemporaryDirectory() as nowhere:
        store_path = config.store_path
        if not store_path.exists():
            store_path = Path(nowhere) / "answers.sqlite"
        return asyncio.run(_walked(store_path, config.recordings_dir, cases, context, prices))


async def _walked(
    store_path: Path,
    recordings_dir: Path,
    cases: Iterable[Case],
    context: RunContext,
    prices: PriceTable,
) -> Plan:
    engine = JudgeEngine(AnswerStore(store_path), Recordings(recordings_dir), live=None)
    planner = Planner(engine, prices)
    try:
        for case in cases:
            await planner.walk(case, context)
    finally:
        await engine.aclose()
    return planner.plan()


def plan_lines(plan: Plan, config: RunConfig, prices: PriceTable, width: int = WIDTH) -> list[str]:
    """Return the plan for the terminal; no line over ``width``, 80 or more."""
    model = for_terminal(config.judge_model)
    lines = ["", f"plan: judge {model}, reasoning {config.reasoning}, repeat {config.judge_repeat}"]
    lines += ["", _row("", "needed", "stored", "missing", "tokens in", "tokens out")]
    missing = {each.purpose: each for each in plan.now}
    for purpose in dict.fromkeys((*plan.stored, *missing)):
        lines.append(_now_row(purpose, plan.stored.get(purpose) or 0, missing.get(purpose)))
    if plan.later:
        lines += ["", _row("then, as these are answered", "at least", "at most", "", "", "")]
        lines += [_later_row(each) for each in plan.later]
    lines.append("")
    for sentence in _sentences(plan, config, prices):
        lines += wrapped(sentence, width)
    return lines


def _now_row(purpose: str, stored: int, lacking: Lacking | None) -> str:
    needed = stored + (0 if lacking is None else round(lacking.calls.most))
    if lacking is None:
        return _row(purpose, numbers.count(needed), numbers.count(stored), "0", "", "")
    missing = numbers.count(round(lacking.calls.most))
    return _row(purpose, numbers.count(needed), numbers.count(stored), missing, *_tokens(lacking))


def _later_row(lacking: Lacking) -> str:
    least, most = (numbers.count(round(calls)) for calls in lacking.calls)
    return _row(lacking.purpose, least, most, "", *_tokens(lacking))


def _row(purpose: str, one: str, two: str, three: str, read: str, output: str) -> str:
    return f"{purpose:<28}{one:>10}{two:>9}{three:>9}{read:>11}{output:>12}".rstrip()


def _tokens(lacking: Lacking) -> tuple[str, str]:
    """Return how many tokens are read and written, each marked as what it is."""
    bound = "" if lacking.calls.least == lacking.calls.most else "<= "
    usual = "" if lacking.is_learned else "~ "
    read, output = (
        short(round(each.most)) for each in (lacking.read_tokens, lacking.output_tokens)
    )
    return f"{bound}{read}", f"{bound or usual}{output}"


def _sentences(plan: Plan, config: RunConfig, prices: PriceTable) -> Iterable[str]:
    if not plan.now:
        yield "Every answer is stored: the run would make no call."
        return
    now = sum(round(each.calls.most) for each in plan.now)
    least, most = (round(calls) for calls in plan.calls)
    all_of_them = numbers.counted(most, "call")
    if least != most:
        all_of_them = f"at least {numbers.count(least)} and at most {all_of_them}"
    yield f"Calls to make: {numbers.count(now)} now; in all {all_of_them}."
    yield f"Cost: {_cost_text(plan, config, prices)}"
    yield (
        "Tokens and cost are estimates, the same that --max-tokens and --max-cost go by. Input is"
        " told from the text, by what stored answers to the same prompt took, else at"
        f" {CHARS_PER_TOKEN:g} characters a token; output from the mean of stored answers, else"
        " from the usual length (~)."
    )
    if not all(each.is_learned for each in plan.now):
        yield "Judge a few items first (-k, or --max-calls), and the next plan is closer."
    if config.judge_mode == "recorded":
        yield (
            "This command judges with recorded answers and makes no call. --judge live and --judge"
            " batch do; a plan of theirs needs no key."
        )


def _cost_text(plan: Plan, config: RunConfig, prices: PriceTable) -> str:
    cost_usd = plan.cost_usd
    if cost_usd is None:
        return f"unknown, no price for {for_terminal(config.judge_model)} in pyproject.toml."
    halved = Span(*(each * prices.batch_factor for each in cost_usd))
    told = (
        f"about {_dollars(cost_usd)} in single calls, {_dollars(halved)} in batches (prices of"
        f" {prices.as_of})."
    )
    ceiling_usd = plan.ceiling_usd
    if ceiling_usd is None or all(each.is_learned for each in plan.lacking):
        return told
    most = dollars(ceiling_usd)
    return f"{told} Were every answer as long as is allowed, single calls would be {most}."


def _dollars(cost_usd: Span) -> str:
    least, most = dollars(cost_usd.least), dollars(cost_usd.most)
    return most if least == most else f"{least} to {most}"

"""What a run cost, and what it was allowed to: one sentence each."""

from evals.config import Limits
from evals.report import numbers
from evals.runs.record import RunInfo

_CENT = 0.01
_TENTHS_BELOW = 9.95
_ROUNDS_UP = 0.9995
"""From here on a number is rounded to the next unit: 999,600 is 1.0 M."""
_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def cost_text(info: RunInfo) -> str:
    """Return ``$1.23 (prices of 2026-11-30; 412 calls, 1.2 M tokens in of which 80 % …)``.

    Calls that an earlier run sent and this one took up are named apart.
    ``no calls`` where nothing was bought; ``unknown: …`` with the reason where a price or a count
    is missing, never a sum without it.
    """
    if info.calls_sent is None:
        return f"unknown: {info.cost_unknown_why}"
    if info.counts_are == "exact" and not info.calls_sent and not info.answers_bought:
        return "no calls"
    calls = f"{_at_least(info)}{numbers.counted(info.calls_sent, 'call')}"
    if info.calls_taken_up:
        calls += f" and the answers to {numbers.count(info.calls_taken_up)} of an earlier run"
    bought = ", ".join(part for part in (calls, tokens_text(info)) if part)
    if info.cost_usd is None:
        return f"unknown: {info.cost_unknown_why} ({bought})"
    return f"{dollars(info.cost_usd)} (prices of {info.prices_as_of}; {bought})"


def sent_text(info: RunInfo) -> str:
    """Return ``412 calls, 415 HTTP attempts``, with ``at least`` before, or ``unknown``."""
    if info.calls_sent is None or info.http_attempts is None:
        return "unknown"
    sent = numbers.counted(info.calls_sent, "call")
    if info.calls_sent_again:
        sent += f", {numbers.count(info.calls_sent_again)} sent again"
    return f"{_at_least(info)}{sent}, {numbers.counted(info.http_attempts, 'HTTP attempt')}"


def _at_least(info: RunInfo) -> str:
    return "at least " if info.counts_are == "at_least" else ""


def tokens_text(info: RunInfo) -> str:
    """Return ``1.2 M tokens in of which 80 % read from cache, 30 k out``; empty for none."""
    tokens = info.tokens_bought
    if tokens is None or not tokens.read:
        return ""
    cached = f"{100 * tokens.cache_read / tokens.read:.0f} % read from cache"
    return f"{short(tokens.read)} tokens in of which {cached}, {short(tokens.output)} out"


def budget_text(info: RunInfo) -> str:
    """Return what the run was allowed, and whether that ran out."""
    allowed = ", ".join(_limits(info.limits)) or "none set"
    return allowed if info.budget_ran_out is None else f"{allowed}; {ran_out_line(info)}"


def ran_out_line(info: RunInfo) -> str | None:
    """Return the sentence for a budget that ran out; None where it did not."""
    if info.budget_ran_out is None:
        return None
    if info.counts_are == "exact" and info.calls_sent == info.answers_bought == 0:
        found = f"BUDGET TOO SMALL ({info.budget_ran_out}): nothing was sent"
        return f"{found}; --plan says how much is needed"
    return f"BUDGET USED UP ({info.budget_ran_out}): nothing more was sent"


def dollars(cost_usd: float) -> str:
    """Return ``$1,234.56``; ``under $0.01`` for less than a cent that is not nothing."""
    return "under $0.01" if 0 < cost_usd < _CENT else f"${cost_usd:,.2f}"


def short(value: int) -> str:
    """Return ``950``, ``9.5 k``, ``1.2 M``: two digits or more, and a unit."""
    for unit, name in _UNITS:
        if value >= unit * _ROUNDS_UP:
            scaled = value / unit
            decimals = 1 if scaled < _TENTHS_BELOW else 0
            return f"{scaled:,.{decimals}f} {name}"
    return str(value)


def _limits(limits: Limits) -> list[str]:
    found: list[str] = []
    if limits.max_calls is not None:
        found.append(numbers.counted(limits.max_calls, "call"))
    if limits.max_tokens is not None:
        found.append(numbers.counted(limits.max_tokens, "token"))
    if limits.max_cost_usd is not None:
        found.append(f"${limits.max_cost_usd:,.2f}")
    return found

# ruff: noqa: RUF001, RUF002  the en dash is meant: ranges, and the sign for nothing
"""Every number that a reader sees is written here, and nowhere else.

A figure carries what it was counted over; a figure over nothing is ``–``, never a zero.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from evals.coverage.share import Share
from evals.metrics import Mean, Rate

NOTHING = "–"
"""Stands for a value that does not exist."""

_HOUR_S = 3600
_MINUTE_S = 60
_TENTHS_BELOW_S = 10


def percent(part: float, whole: float) -> str:
    """Return ``part / whole`` as ``82.0 %``; ``–`` where ``whole`` is 0.

    Rounding never makes a share look complete or empty: 9,999 of 10,000 is ``> 99.9 %``.
    """
    if whole == 0:
        return NOTHING
    if 0 < part < whole:
        share = 100 * part / whole
        if f"{share:.1f}" == "100.0":
            return "> 99.9 %"
        if f"{share:.1f}" == "0.0":
            return "< 0.1 %"
    return f"{100 * part / whole:.1f} %"


def rate_value(rate: Rate) -> str:
    """Return the share alone: ``82.0 %``, or ``–``."""
    return percent(rate.hits, rate.n)


def rate_parts(rate: Rate, *, is_unjudged_share: bool = False) -> list[str]:
    """Return what the share rests on: ``["41/50", "95 % 69.2–90.2 %", "2 unjudged"]``.

    Args:
        rate: the share.
        is_unjudged_share: it counts the unjudged itself; none is left out of it, and the words
            "0 unjudged" beside it would say the opposite.
    """
    left_out = [] if is_unjudged_share else [f"{count(rate.unjudged)} unjudged"]
    if rate.n == 0 or rate.low is None or rate.high is None:
        return [f"n {count(rate.n)}", *left_out]
    interval = f"95 % {100 * rate.low:.1f}–{100 * rate.high:.1f} %"
    return [f"{count(rate.hits)}/{count(rate.n)}", interval, *left_out]


def rate_text(rate: Rate, *, is_unjudged_share: bool = False) -> str:
    """Return ``82.0 % (41/50), 95 % 69.2–90.2 %, 2 unjudged``; ``– (n 0), 2 unjudged``."""
    basis, *rest = rate_parts(rate, is_unjudged_share=is_unjudged_share)
    return ", ".join([f"{rate_value(rate)} ({basis})", *rest])


def mean_value(mean: Mean) -> str:
    """Return the mean alone: ``0.74``, or ``–``."""
    return score(mean.value)


def mean_parts(mean: Mean) -> list[str]:
    """Return what the mean rests on: ``["n 24", "95 % 0.66–0.81", "3 unjudged"]``."""
    parts = [f"n {count(mean.n)}"]
    if mean.low is not None and mean.high is not None:
        parts.append(f"95 % {mean.low:.2f}–{mean.high:.2f}")
    return [*parts, f"{count(mean.unjudged)} unjudged"]


def mean_text(mean: Mean) -> str:
    """Return ``0.74 (n 24), 95 % 0.66–0.81, 3 unjudged``; ``– (n 0), 3 unjudged``."""
    basis, *rest = mean_parts(mean)
    return ", ".join([f"{mean_value(mean)} ({basis})", *rest])


def share_value(share: Share) -> str:
    """Return the weighted share alone: ``62.5 %``, or ``–``."""
    return NOTHING if share.value is None else percent(share.earned, share.weight)


def share_parts(share: Share) -> list[str]:
    """Return what a weighted share rests on.

    ``["weight 25 of 40", "14 facts", "95 % 48.1–77.0 %", "1 unjudged"]``; without an interval below
    two windows; at the end ``"2 windows without gold"`` where there are any, for how many facts
    they would have had is not known.
    """
    parts = [counted(share.n, "fact")]
    if share.weight:
        parts.insert(0, f"weight {weight(share.earned)} of {weight(share.weight)}")
    if share.low is not None and share.high is not None:
        parts.append(f"95 % {100 * share.low:.1f}–{100 * share.high:.1f} %")
    parts.append(f"{count(share.unjudged)} unjudged")
    if share.unjudged_windows:
        parts.append(f"{counted(share.unjudged_windows, 'window')} without gold")
    return parts


def share_text(share: Share) -> str:
    """Return ``62.5 % (weight 25 of 40, 14 facts), 95 % 48.1–77.0 %, 1 unjudged``.

    Over nothing ``– (0 facts), 3 unjudged``.
    """
    parts = share_parts(share)
    basis = 2 if share.weight else 1
    return ", ".join([f"{share_value(share)} ({', '.join(parts[:basis])})", *parts[basis:]])


def share_brief(share: Share) -> str:
    """Return a weighted share among others: ``62.5 % (weight 25 of 40, 14 facts), 1 unjudged``."""
    basis = share_parts(share)[: 2 if share.weight else 1]
    return f"{share_value(share)} ({', '.join(basis)}), {count(share.unjudged)} unjudged"


def weight(value: float) -> str:
    """Return a weight, or a sum of them, with at most two decimals: ``25``, ``1,204.5``."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def score(value: float | None) -> str:
    """Return a value from 0 to 1 with two decimals, or ``–``."""
    return NOTHING if value is None else f"{value:.2f}"


def count(value: int) -> str:
    """Return ``12,345``."""
    return f"{value:,}"


def counted(value: int, one: str, many: str | None = None) -> str:
    """Return ``1 call``, ``12,345 calls``; ``many`` is for plurals without a plain s."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def share_of(part: int, whole: int) -> str:
    """Return ``12 of 20 (60.0 %)``; ``0 of 0`` where there is nothing."""
    plain = f"{count(part)} of {count(whole)}"
    return plain if whole == 0 else f"{plain} ({percent(part, whole)})"


def part_of(part: int, whole: int) -> str:
    """Return ``3,000 of 7,894``, or ``all 12`` where the part is the whole."""
    return f"all {count(whole)}" if part == whole else f"{count(part)} of {count(whole)}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return ``refused 3, timeout 1``, the largest first; ``none`` for an empty mapping."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {count(number)}" for name, number in ordered) or "none"


def metric_value(value: float | None) -> str:
    """Return a gate's metric in the unit of its gate: up to six digits, or ``–``."""
    return NOTHING if value is None else f"{value:.6g}"


def moment(value: datetime | None) -> str:
    """Return ``2026-11-30 14:54:32 UTC``; the zone only where it is known; ``–`` for None."""
    if value is None:
        return NOTHING
    zone = value.tzname()
    plain = value.strftime("%Y-%m-%d %H:%M:%S")
    return f"{plain} {zone}" if zone else plain


def duration(span: timedelta) -> str:
    """Return ``0.4 s``, ``42 s``, ``3 min 05 s`` or ``1 h 02 min``."""
    seconds = span.total_seconds()
    if seconds < _TENTHS_BELOW_S:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S:02} s"
    return f"{whole // _HOUR_S:,} h {whole % _HOUR_S // _MINUTE_S:02} min"

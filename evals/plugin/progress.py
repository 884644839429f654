"""How far a run has come, and the one line that says so."""

import math
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple, Protocol

from evals.config import JudgeMode
from evals.judging.engine import EngineCounts
from evals.judging.limiter import Pace
from evals.report.cost import dollars, short
from evals.report.numbers import count, counted, duration

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S
_LONG_REFUSED_S = 30
"""A refusal is nothing to tell of before; calls in flight may be answered yet."""


@dataclass(frozen=True)
class Progress:
    """The state of a run at one moment."""

    judged: int
    """Cases that have come to a row, or to an error."""
    selected: int
    """Cases that the run is to judge; at least 1."""
    in_flight: int | None
    """HTTP attempts running now; None where the run makes none that a person would wait for."""
    pace: Pace | None
    """What the server lets the run do; None where ``in_flight`` is."""
    retries: int
    """HTTP attempts on top of each call's first."""
    batch_round: "BatchRound | None"
    """Of a batch run, once its first round is sent; None elsewhere."""
    input_tokens: int
    """Of the answers bought so far, read from the cache or not."""
    output_tokens: int
    """Of the answers bought so far."""
    cost_usd: float | None
    """Of the answers bought so far; None where it is not known."""
    elapsed_s: float
    """Since the first test could have run."""
    left_s: float | None
    """Until the last case is judged, at the rate of late; None while that cannot be told."""


class BatchRound(NamedTuple):
    """A round of a batch run."""

    number: int
    """From 1."""
    done: int
    """Requests that the server is done with: it says so for a whole batch at once."""
    requests: int


class _Part(NamedTuple):
    rank: int
    """0 stays longest where the line is too long."""
    text: str


def live_text(progress: Progress, width: int) -> str:
    """Return the line for a terminal: ASCII, at most ``width`` columns.

    ``judged 310/2,000, 64 in flight, 12 retries, 1.2M in 310k out, $1.23, 4 min left``; where the
    server slows the run down also ``held 12 s (server asked)``, ``no answer for 3 min``, and ``9/12
    in flight`` of the 12 that it allows. What is zero or not known is left out; where room
    is short first the tokens go, then retries, calls in flight, cost, time left, and last what
    holds the run.
    """
    parts = _parts(progress)
    while sum(len(part.text) + 2 for part in parts) - 2 > width and len(parts) > 1:
        parts.remove(max(parts, key=lambda part: part.rank))
    return ", ".join(part.text for part in parts)[:width]


def plain_text(progress: Progress) -> str:
    """Return the line for a log, however long: ``1 min 30 s: judged 310/2,000, …``; ASCII."""
    text = ", ".join(part.text for part in _parts(progress))
    return f"{duration(timedelta(seconds=progress.elapsed_s))}: {text}"


def _parts(progress: Progress) -> list[_Part]:
    parts = [_Part(0, f"judged {count(progress.judged)}/{count(progress.selected)}")]
    parts += _held_parts(progress.pace)
    if progress.in_flight is not None:
        allowed = _allowed(progress.pace)
        parts.append(_Part(5, f"{count(progress.in_flight)}{allowed} in flight"))
    if progress.batch_round is not None:
        number, done, requests = progress.batch_round
        parts.append(_Part(5, f"round {number}: {count(done)}/{count(requests)}"))
    if progress.retries > 0:
        parts.append(_Part(6, counted(progress.retries, "retry", "retries")))
    if progress.input_tokens or progress.output_tokens:
        # Closer than elsewhere, or it would not fit 80 columns beside the rest.
        tokens = f"{short(progress.input_tokens)} in {short(progress.output_tokens)} out"
        parts.append(_Part(7, tokens.replace(" k", "k").replace(" M", "M").replace(" G", "G")))
    if progress.cost_usd:
        parts.append(_Part(4, dollars(progress.cost_usd)))
    if progress.left_s is not None:
        parts.append(_Part(3, f"{_about(progress.left_s)} left"))
    return parts


def _held_parts(pace: Pace | None) -> list[_Part]:
    if pace is None:
        return []
    parts = []
    if pace.hold_s > 0:
        why = " (server asked)" if pace.is_asked else ""
        parts.append(_Part(1, f"held {math.ceil(pace.hold_s)} s{why}"))
    if pace.refused_for_s >= 2 * _MINUTE_S:
        parts.append(_Part(2, f"no answer for {pace.refused_for_s // _MINUTE_S:.0f} min"))
    elif pace.refused_for_s >= _LONG_REFUSED_S:
        parts.append(_Part(2, f"no answer for {math.floor(pace.refused_for_s)} s"))
    return parts


def _allowed(pace: Pace | None) -> str:
    """Return ``/12`` where the server allows fewer than the run would make at once."""
    return "" if pace is None or pace.limit == pace.max_in_flight else f"/{count(pace.limit)}"


def _about(seconds: float) -> str:
    """Return ``10 s``, ``4 min``, ``1 h 20 min``, ``3 days``: rounded up, as it is an estimate."""
    if seconds <= _MINUTE_S - 5:
        return f"{max(5 * math.ceil(seconds / 5), 5)} s"
    minutes = math.ceil(seconds / _MINUTE_S)
    if minutes < _HOUR_S // _MINUTE_S:
        return f"{minutes} min"
    if seconds < 2 * _DAY_S:
        return f"{minutes // 60} h {minutes % 60:02} min"
    return f"{math.ceil(seconds / _DAY_S):,} days"


class TimeLeft:
    """Tells from the rate of late how long the rest will take.

    The rate counts from the first live call on: what the store answered before says nothing about
    what is to be called for.
    """

    WINDOW_S = 300.0
    """How far back the rate looks: long enough for slow cases, short enough to notice a pause."""
    _EVERY_S = 1.0

    def __init__(self, fewest: int) -> None:
        """Start without a sample.

        Args:
            fewest: cases that must have been judged before a rate means anything, at least 1.
        """
        self._fewest = fewest
        self._samples: deque[tuple[float, int]] = deque()

    def seen(self, elapsed_s: float, judged: int) -> None:
        """Take a sample; call it often, and only from the first live call on."""
        samples = self._samples
        if samples and elapsed_s - samples[-1][0] < self._EVERY_S:
            return
        samples.append((elapsed_s, judged))
        while len(samples) > 1 and elapsed_s - samples[1][0] >= self.WINDOW_S:
            samples.popleft()

    def left_s(self, elapsed_s: float, judged: int, selected: int) -> float | None:
        """Return the seconds that the rest will take, at least 0; None while it cannot be told."""
        if not self._samples:
            return None
        first_s, first_judged = self._samples[0]
        done, span_s = judged - first_judged, elapsed_s - first_s
        if done < self._fewest or span_s <= 0:
            return None
        return (selected - judged) * span_s / done


class Measured(Protocol):
    """What a run tells about itself at any moment."""

    @property
    def judged(self) -> int:
        """Cases that the judge is done with."""
        ...

    @property
    def selected(self) -> int:
        """Cases that it is to judge; 0 while they are not known."""
        ...

    @property
    def counts(self) -> EngineCounts | None:
        """What it has cost so far; None while that is not known."""
        ...


class Meter:
    """Reads the progress of a run."""

    _FEWEST = 5

    def __init__(self, run: Measured, mode: JudgeMode, max_in_flight: int) -> None:
        """Take the run; it need not have begun.

        Args:
            run: what is read.
            mode: how it judges.
            max_in_flight: cases that it judges side by side.
        """
        self._run = run
        self._mode = mode
        self._max_in_flight = max_in_flight
        self._time_left: TimeLeft | None = None

    def read(self, elapsed_s: float) -> Progress | None:
        """Return the state now; None before the cases are known and after the last is judged."""
        counts, judged, selected = self._run.counts, self._run.judged, self._run.selected
        if counts is None or judged >= selected:
            return None
        return Progress(
            judged=judged,
            selected=selected,
            in_flight=counts.in_flight if self._mode == "live" else None,
            pace=counts.pace,
            retries=counts.retries,
            batch_round=_round_of(counts),
            input_tokens=counts.spending.tokens.read,
            output_tokens=counts.spending.tokens.output,
            cost_usd=counts.spending.cost_usd,
            elapsed_s=elapsed_s,
            left_s=self._left_s(elapsed_s, judged, selected, has_begun=counts.calls > 0),
        )

    def _left_s(
        self, elapsed_s: float, judged: int, selected: int, *, has_begun: bool
    ) -> float | None:
        if self._mode == "batch":  # its cases end together, and the server tells no rate
            return None
        if self._time_left is None:
            # One round of what is judged side by side: its cases all end at about the same time.
            a_round = min(self._max_in_flight, selected // 10)
            self._time_left = TimeLeft(max(a_round, self._FEWEST))
        if has_begun or self._mode == "recorded":
            self._time_left.seen(elapsed_s, judged)
        return self._time_left.left_s(elapsed_s, judged, selected)


def _round_of(counts: EngineCounts) -> BatchRound | None:
    status = counts.round
    if status is None:
        return None
    done = status.counts.total - status.counts.processing
    return BatchRound(status.number, done, status.requests)

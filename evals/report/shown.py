"""Which rows ``report.html`` draws of a run that is too large to draw whole.

pytest-html draws every row at once: a thousand open in a second, ten thousand in eight, and each
click costs as much again. So a large run shows what a reader looks for, every finding as far as
that goes, and of the rest a sample; ``cases.html`` and ``windows.html`` are paged and have all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from evals.report import numbers
from evals.report.links import CASES_PAGE, WINDOWS_PAGE, cases_link
from evals.report.templates import render
from evals.runs.info import ROWS_FILE

RowKind = Literal["failed", "unjudged", "unsound", "sound", "scored", "other"]
"""What a row is to its reader. ``failed``: a test that did not simply pass, so skipped ones too;
``other``: one that did and has no verdict."""

SHOWN_ROWS = 1_500
"""A run of so many rows is drawn whole. Of a larger one, so many findings at most, since those of a
poor deriver are too many by themselves; and the sample of the rest fills up to here."""
LEAST_SAMPLE = 300
"""Rows without a finding that are drawn however many findings there are."""

_GOLDEN_RATIO = 0.618033988749895
"""Its multiples, modulo 1, fall evenly between 0 and 1 and never in a rhythm."""

_FINDINGS: tuple[RowKind, ...] = ("failed", "unjudged", "unsound")
"""What needs a look, the most urgent first."""
_REST: tuple[RowKind, ...] = ("sound", "scored", "other")
_WORDS: dict[RowKind, str] = {"failed": "failed or skipped", "other": "without a verdict"}


@dataclass(frozen=True)
class ShownRows:
    """A choice among the rows of a run."""

    places: tuple[int, ...]
    """Places of the rows to draw, from 0, in the order in which they stand: findings first where
    rows are left out, else as they ended."""
    shown: dict[RowKind, int]
    """Rows drawn, by kind, 0 included."""
    all: dict[RowKind, int]
    """Rows of the run, by kind; the same keys."""

    @property
    def is_whole(self) -> bool:
        """Whether every row is drawn."""
        return self.shown == self.all


def choose_rows(kinds: Sequence[RowKind]) -> ShownRows:
    """Choose the rows to draw; the same kinds always give the same choice.

    Args:
        kinds: of every row of the run, in the order in which they ended.
    """
    places = range(len(kinds)) if len(kinds) <= SHOWN_ROWS else _chosen(kinds)
    there = Counter(kinds)
    shown = Counter(kinds[place] for place in places)
    return ShownRows(
        tuple(places),
        {kind: shown[kind] for kind in (*_FINDINGS, *_REST) if there[kind]},
        {kind: there[kind] for kind in (*_FINDINGS, *_REST) if there[kind]},
    )


def shown_rows_html(choice: ShownRows) -> str:
    """Return what stands above the table where rows are left out; empty where none are."""
    if choice.is_whole:
        return ""
    parts = [
        (numbers.part_of(shown, choice.all[kind]), _WORDS.get(kind) or kind)
        for kind, shown in choice.shown.items()
    ]
    return render(
        "headline/shown_rows.html.j2",
        {
            "shown": numbers.count(len(choice.places)),
            "whole": numbers.counted(sum(choice.all.values()), "row"),
            "parts": parts,
            "has_verdicts": bool(choice.all.keys() & {"sound", "unsound"}),
            "unsound_link": cases_link(verdict="unsound"),
            "cases_page": CASES_PAGE,
            "windows_page": WINDOWS_PAGE,
            "rows_file": ROWS_FILE,
        },
    )


def _chosen(kinds: Sequence[RowKind]) -> list[int]:
    chosen: list[int] = []
    for kind in _FINDINGS:
        own = [place for place, one in enumerate(kinds) if one == kind]
        chosen += _spread(own, SHOWN_ROWS - len(chosen))
    rest = [place for place, one in enumerate(kinds) if one in _REST]
    return chosen + _spread(rest, max(SHOWN_ROWS - len(chosen), LEAST_SAMPLE))


def _spread(places: list[int], limit: int) -> list[int]:
    """Return at most ``limit`` of ``places``, evenly spread over them, in their order.

    One of each of ``limit`` stretches of equal length, at another point of each: with equal steps,
    the sample of windows of ten conclusions could hold the sixth of each and no other.
    """
    if len(places) <= limit:
        return places
    starts = [*(number * len(places) // limit for number in range(limit)), len(places)]
    return [
        places[start + int(number * _GOLDEN_RATIO % 1 * (end - start))]
        for number, (start, end) in enumerate(pairwise(starts))
    ]

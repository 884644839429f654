"""What a row costs and shows in pytest-html's table: light cells, sortable, filterable.

pytest-html draws all rows at once and stores each sortable cell twice, so a row holds only what
one sorts and filters by; everything else is one click away, in ``cases.html`` or
``windows.html``.
"""

from typing import NamedTuple

from markupsafe import Markup

from evals.coverage.row import CoverageRow
from evals.judging.case import Row
from evals.judging.judged import Outcome
from evals.premise.row import ConclusionRow
from evals.report import numbers
from evals.report.links import CASES_PAGE, REPORT_PAGE, case_link, window_link
from evals.report.text import cut
from evals.report.window_line import batch_line, coverage_line
from evals.set_level.row import SetLevelRow

__all__ = [
    "CASES_PAGE",
    "FILTER_LABELS",
    "REPORT_PAGE",
    "RowCells",
    "cells_of",
    "decontextuality",
    "empty_cells",
    "filter_css",
    "filter_outcomes",
    "header_cells",
    "row_cells",
]

_TEXT_COLUMNS = 72
_LABEL_COLUMNS = 40

FILTER_LABELS: dict[Outcome, str] = {
    "sound": "Sound",
    "unsound": "Unsound",
    "unjudged": "Unjudged",
    "scored": "Scored",
}
"""The outcomes that get a checkbox of their own above the table."""


class RowCells(NamedTuple):
    """The cells of one row, each a whole ``<td>``, in the order of ``header_cells``.

    pytest-html reads a sortable value back out of ``<td …>value</td>`` by the ``col-…`` class,
    which must name the header's ``data-column-type``; hence no nested tags in sortable cells.
    """

    verdict: Markup
    conclusion: Markup
    score: Markup
    time_status: Markup
    attribution: Markup
    labels: Markup


_TITLES = RowCells(
    verdict=Markup('<th class="sortable" data-column-type="verdict">Verdict</th>'),
    conclusion=Markup("<th>Conclusion</th>"),
    score=Markup(
        '<th class="sortable" data-column-type="score" '
        'title="Decontextuality / molecular score, 0 to 1">Score</th>'
    ),
    time_status=Markup('<th class="sortable" data-column-type="time">Time</th>'),
    attribution=Markup('<th class="sortable" data-column-type="attr">Attribution</th>'),
    labels=Markup("<th>Labels</th>"),
)


def header_cells() -> RowCells:
    """Return the titles of the columns, each a whole ``<th>``."""
    return _TITLES


def cells_of(row: Row) -> RowCells:
    """Return the cells of a row of any instrument, every piece of its text escaped."""
    match row:
        case ConclusionRow():
            return row_cells(row)
        case CoverageRow():
            return _window_cells(row, row.window_id, coverage_line(row))
        case SetLevelRow():
            return _window_cells(row, row.window_id, batch_line(row))
    return empty_cells()


def _window_cells(row: Row, window_id: str, line: str) -> RowCells:
    """Return what a batch or a window is and came to; the other columns are of conclusions."""
    nothing = numbers.NOTHING
    return RowCells(
        verdict=_verdict_cell(row),
        conclusion=_linked_cell(window_link(window_id), line),
        score=Markup("<td class=col-score>{}</td>").format(nothing),
        time_status=Markup("<td class=col-time>{}</td>").format(nothing),
        attribution=Markup("<td class=col-attr>{}</td>").format(nothing),
        labels=Markup("<td></td>"),
    )


def _verdict_cell(row: Row) -> Markup:
    # Attributes without quotes: a quote costs six bytes in the page. ``quote`` and the closed
    # set of outcomes leave nothing in them that would need one.
    return Markup("<td class=col-verdict data-v={0}>{0}</td>").format(row.outcome)


def _linked_cell(link: str, text: str) -> Markup:
    # pytest-html leaves a click in col-links alone; in other cells it unfolds the row.
    return Markup("<td class=col-links><a href={}>{}</a></td>").format(link, text)


def row_cells(row: ConclusionRow) -> RowCells:
    """Return the cells of one conclusion, every piece of its text escaped."""
    attributions = sorted({slot.attribution for slot in row.missing})
    return RowCells(
        verdict=_verdict_cell(row),
        conclusion=_linked_cell(
            case_link(row.case_id), cut(row.text, _TEXT_COLUMNS) or row.case_id
        ),
        score=Markup("<td class=col-score>{} / {}</td>").format(
            decontextuality(row), numbers.score(row.molecular)
        ),
        time_status=Markup("<td class=col-time>{}</td>").format(row.time_status or numbers.NOTHING),
        attribution=Markup("<td class=col-attr>{}</td>").format(
            " ".join(attributions) or numbers.NOTHING
        ),
        labels=Markup("<td>{}</td>").format(cut(", ".join(row.labels), _LABEL_COLUMNS)),
    )


def decontextuality(row: ConclusionRow) -> str:
    """Return pass 1's score as a reader sees it, or a dash without pass 1."""
    return numbers.score(None if row.pass_1 is None else row.pass_1.decontextuality)


def empty_cells() -> RowCells:
    """Return the cells of a row that is no conclusion: as many, so that the columns agree."""
    return RowCells(*(Markup("<td></td>") for _ in RowCells._fields))


def filter_outcomes() -> dict[str, dict[str, str | int]]:
    """Return the entries for pytest-html's ``report.outcomes``, each counted up by the row hook."""
    return {name: {"label": label, "value": 0} for name, label in FILTER_LABELS.items()}


def filter_css() -> str:
    """Return the rules that make the checkboxes of ``filter_outcomes`` hide their rows.

    pytest-html's script knows only pytest's outcomes; the checkbox state is read by CSS instead.
    """
    return "\n".join(
        f'body:has(input[data-test-result="{name}"]:not(:checked)) '
        f"tbody:has(> tr > td[data-v={name}]) {{ display: none; }}"
        for name in FILTER_LABELS
    )

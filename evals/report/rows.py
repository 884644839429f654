"""What a conclusion costs and shows in pytest-html's table: light cells, sortable, filterable.

pytest-html draws all rows at once and stores each sortable cell twice, so a row holds only what
one sorts and filters by; everything else is one click away in ``cases.html``.
"""

from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from evals.judging.case import Outcome
from evals.premise.row import ConclusionRow
from evals.report import numbers
from evals.report.text import cut

REPORT_PAGE, CASES_PAGE = "report.html", "cases.html"
"""Names of the two pages, side by side in the run's folder."""
_TEXT_COLUMNS = 72
_LABEL_COLUMNS = 40

FILTER_LABELS: dict[Outcome, str] = {
    "sound": "Sound",
    "unsound": "Unsound",
    "unjudged": "Unjudged",
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


def row_cells(row: ConclusionRow) -> RowCells:
    """Return the cells of one conclusion, every piece of its text escaped."""
    attributions = sorted({slot.attribution for slot in row.missing})
    return RowCells(
        # Attributes without quotes: a quote costs six bytes in the page. ``quote`` and the closed
        # set of outcomes leave nothing in them that would need one.
        verdict=Markup("<td class=col-verdict data-v={0}>{0}</td>").format(row.outcome),
        # pytest-html leaves a click in col-links alone; in other cells it unfolds the row.
        conclusion=Markup("<td class=col-links><a href={}>{}</a></td>").format(
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


def case_link(case_id: str) -> str:
    """Return the address of a case beside the report: ``cases.html#<case id>``, percent-encoded."""
    return f"{CASES_PAGE}#{quote(case_id, safe='/')}"


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

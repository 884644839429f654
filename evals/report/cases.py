"""``cases.html``: every conclusion with all that was found about it, paged, in one file.

The page carries three blocks of JSON. The index (what one filters, sorts and lists by, as columns)
comes first and is read at once; the rows and the windows follow, one JSON value a line, and a line
is read only when its case is unfolded. So 50,000 conclusions open as fast as their index.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from evals.judging.case import Outcome
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.report import numbers, reading
from evals.report.case_values import CaseDetails, TextTable, window_of, window_values
from evals.report.rows import CASES_PAGE, FILTER_LABELS, REPORT_PAGE, decontextuality
from evals.report.templates import own_text, render, script_hash
from evals.runs.record import RunInfo
from evals.runs.writer import write_atomically

PAGE_CASES = 50
LABELS_OFFERED = 200
"""Labels in the filter's list, the most frequent; the search finds the others."""

SCRIPT_PARTS = ("data", "filters", "list", "case", "window", "address")
"""In the order in which they run: the last one starts the page."""

CONDITION_MEANING = {
    "unknown_slots": "a stranger would have to settle open slots",
    "licensed_inference": "nothing follows from it",
    "interpretation": "a stranger takes it to mean something else than the source",
    "unsupported_elements": "it holds elements that the window does not support",
    "force_preserved": "its force is not the source's, as when a wish turns into a fact",
    "time_status": "it needs a date and has none, or a wrong one",
}
"""The conditions of 1.3, said as what went wrong."""

_OUTCOMES: tuple[Outcome, ...] = ("unsound", "unjudged", "sound")
"""Also the default order of the page: what needs a fix first."""


def write_cases(
    run_dir: Path,
    info: RunInfo,
    rows: Sequence[ConclusionRow],
    windows: Mapping[str, Window],
) -> Path:
    """Write ``cases.html`` into the run's folder, whole or not at all, and return its path.

    Raises:
        RunError: it cannot be written, or a row's window is not in ``windows``.
    """
    path = run_dir / CASES_PAGE
    write_atomically(path, cases_html(info, rows, windows))
    return path


def cases_html(info: RunInfo, rows: Sequence[ConclusionRow], windows: Mapping[str, Window]) -> str:
    """Return the page: works from a file, without network, with any number of rows.

    Raises:
        RunError: a row's window is not in ``windows``.
    """
    script = page_script()
    window_ids = list(dict.fromkeys(row.provenance.window_id for row in rows))
    position = {window_id: number for number, window_id in enumerate(window_ids)}
    details = CaseDetails(position)
    row_lines = script_lines(details.of(row) for row in rows)
    return render(
        "cases/page.html.j2",
        {
            "info": info,
            "css": own_text("cases/page.css"),
            "script": script,
            "script_hash": script_hash(script),
            "report_page": REPORT_PAGE,
            "incomplete": reading.incomplete_line(info),
            "calibration": reading.calibration_line(info),
            "recorded": info.judge_mode_why if info.judge_mode == "recorded" else None,
            "total": numbers.counted(len(rows), "conclusion"),
            "index": script_json(_index(rows)),
            "row_lines": row_lines,
            "window_lines": script_lines(
                window_values(window_of(window_id, windows)) for window_id in window_ids
            ),
            "shared": script_json(details.shared),
        },
    )


def page_script() -> Markup:
    """Return the page's one script, joined from its parts."""
    return Markup("\n").join(own_text(f"cases/{part}.js") for part in SCRIPT_PARTS)


def script_json(value: object) -> Markup:
    r"""Return ``value`` as JSON on one line that can stand inside a script element.

    ``<`` becomes ``\u003c``, which JSON reads as the same text, so nothing in it can close the
    element or open a comment.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704  the line above is the escaping


def script_lines(values: Iterable[object]) -> Markup:
    """Return one JSON value a line, for a script element that is read line by line."""
    return Markup("\n").join(script_json(value) for value in values)


def _index(rows: Sequence[ConclusionRow]) -> dict[str, object]:
    """Return the columns that list, filters and order need, and the filters' choices."""
    columns: dict[str, Sequence[Sequence[str]]] = {
        "label": [list(dict.fromkeys(row.labels)) for row in rows],
        "time": [[] if row.time_status is None else [row.time_status] for row in rows],
        "attribution": [sorted({slot.attribution for slot in row.missing}) for row in rows],
        "failed": [[] if row.verdict is None else row.verdict.failed_because for row in rows],
        "reason": [[] if row.unjudged is None else [row.unjudged.reason] for row in rows],
    }
    peers = TextTable()
    facets = {name: _facet(values) for name, values in columns.items()}
    return {
        "page": PAGE_CASES,
        "outcomes": [
            [name, FILTER_LABELS[name], sum(row.outcome == name for row in rows)]
            for name in _OUTCOMES
        ],
        "outcome": [_OUTCOMES.index(row.outcome) for row in rows],
        "id": [row.case_id for row in rows],
        "text": [row.text for row in rows],
        "peer": [peers.number(row.peer_id) for row in rows],
        "peers": peers.texts,
        "decon": [decontextuality(row) for row in rows],
        "molec": [numbers.score(row.molecular) for row in rows],
        "conditions": CONDITION_MEANING,
        "offered": LABELS_OFFERED,
        "facets": facets,
    }


def _facet(groups: Sequence[Sequence[str]]) -> dict[str, object]:
    """Return a filter: its choices, the most frequent first, and each row's choices by number."""
    counted = Counter(text for group in groups for text in group)
    ordered = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    table = TextTable([text for text, _ in ordered])
    return {
        "choices": [[text, rows] for text, rows in ordered],
        "rows": [[table.number(text) for text in group] for group in groups],
    }

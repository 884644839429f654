"""``cases.html``: every conclusion with all that was found about it, paged, in one file."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from evals.judging.case import Outcome
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.report import numbers
from evals.report.case_values import CaseDetails
from evals.report.links import CASES_PAGE
from evals.report.paged import facet, page_pieces, script_of
from evals.report.rows import FILTER_LABELS, decontextuality
from evals.report.shared_values import TextTable, window_of, window_values
from evals.runs.record import RunInfo
from evals.runs.writer import write_pieces

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
    write_pieces(path, cases_pieces(info, rows, windows))
    return path


def cases_pieces(
    info: RunInfo, rows: Sequence[ConclusionRow], windows: Mapping[str, Window]
) -> Iterator[str]:
    """Yield the page: it works from a file, without network, with any number of rows.

    Raises:
        RunError: a row's window is not in ``windows``; on the way to its piece.
    """
    window_ids = list(dict.fromkeys(row.provenance.window_id for row in rows))
    position = {window_id: number for number, window_id in enumerate(window_ids)}
    details = CaseDetails(position)
    return page_pieces(
        "cases/page.html.j2",
        info,
        script=page_script(),
        css=(),
        total=numbers.counted(len(rows), "conclusion"),
        index=_index(rows),
        shared=lambda: details.shared,
        blocks={
            "rows": (details.of(row) for row in rows),
            "windows": (window_values(window_of(window_id, windows)) for window_id in window_ids),
        },
    )


def page_script() -> Markup:
    """Return the page's one script, joined from its parts."""
    return script_of("cases/item", "cases/case", "cases/window")


def _index(rows: Sequence[ConclusionRow]) -> dict[str, object]:
    """Return the columns that list, filters and order need, and the filters' choices."""
    columns: dict[str, Sequence[Sequence[str]]] = {
        "label": [row.labels for row in rows],
        "time": [[] if row.time_status is None else [row.time_status] for row in rows],
        "attribution": [sorted({slot.attribution for slot in row.missing}) for row in rows],
        "failed": [[] if row.verdict is None else row.verdict.failed_because for row in rows],
        "reason": [[] if row.unjudged is None else [row.unjudged.reason] for row in rows],
    }
    peers = TextTable()
    facets = {name: facet(values) for name, values in columns.items()}
    return {
        "one": "case",
        "many": "conclusions",
        "choice": "verdict",
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
        "facets": facets,
    }

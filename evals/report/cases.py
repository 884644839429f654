"""``cases.html``: every conclusion with all that was found about it, paged, in one file."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from evals.judging.judged import Outcome
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.report import numbers
from evals.report.case_values import CaseDetails
from evals.report.links import CASES_PAGE
from evals.report.paged import Facet, page_pieces, script_json, script_of
from evals.report.rows import FILTER_LABELS, decontextuality
from evals.report.shared_values import TextTable, window_of, window_values
from evals.report.spool import Spool
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

    Args:
        run_dir: of the run.
        info: the run.
        rows: gone through once; none is kept.
        windows: window id -> window, of every row.

    Raises:
        RunError: it cannot be written, or a row's window is not in ``windows``.
    """
    path = run_dir / CASES_PAGE
    write_pieces(path, cases_pieces(info, rows, windows, run_dir))
    return path


def cases_pieces(
    info: RunInfo,
    rows: Sequence[ConclusionRow],
    windows: Mapping[str, Window],
    spool_dir: Path | None = None,
) -> Iterator[str]:
    """Yield the page: it works from a file, without network, with any number of rows.

    Args:
        info: the run.
        rows: see ``write_cases``.
        windows: see ``write_cases``.
        spool_dir: where lines wait for their place; None: where the system keeps such files.

    Raises:
        RunError: a row's window is not in ``windows``; on the way to its piece.
    """
    position: dict[str, int] = {}
    details, columns = CaseDetails(position), _Columns()
    with Spool(spool_dir) as spool:
        for row in rows:
            position.setdefault(row.provenance.window_id, len(position))
            columns.add(row)
            spool.add(script_json(details.of(row)))
        yield from page_pieces(
            "cases/page.html.j2",
            info,
            script=page_script(),
            css=(),
            total=numbers.counted(len(rows), "conclusion"),
            index=columns.index,
            shared=lambda: details.shared,
            blocks={
                "rows": spool.lines(),
                "windows": (
                    script_json(window_values(window_of(window_id, windows)))
                    for window_id in position
                ),
            },
        )


def page_script() -> Markup:
    """Return the page's one script, joined from its parts."""
    return script_of("cases/item", "cases/case", "cases/window")


class _Columns:
    """What list, filters and order need of each case, as columns; texts that repeat once."""

    def __init__(self) -> None:
        self._outcomes: list[int] = []
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._peers = TextTable()
        self._peer_numbers: list[int] = []
        self._scores: dict[str, str] = {}
        self._decontextuality: list[str] = []
        self._molecular: list[str] = []
        self._facets = {name: Facet() for name in _FACETS}

    def add(self, row: ConclusionRow) -> None:
        self._outcomes.append(_OUTCOMES.index(row.outcome))
        self._ids.append(row.case_id)
        self._texts.append(row.text)
        self._peer_numbers.append(self._peers.number(row.peer_id))
        self._decontextuality.append(self._once(decontextuality(row)))
        self._molecular.append(self._once(numbers.score(row.molecular)))
        for name, facet in self._facets.items():
            facet.add(_FACETS[name](row))

    @property
    def index(self) -> dict[str, object]:
        counted = Counter(self._outcomes)
        return {
            "one": "case",
            "many": "conclusions",
            "choice": "verdict",
            "outcomes": [
                [name, FILTER_LABELS[name], counted[number]]
                for number, name in enumerate(_OUTCOMES)
            ],
            "outcome": self._outcomes,
            "id": self._ids,
            "text": self._texts,
            "peer": self._peer_numbers,
            "peers": self._peers.texts,
            "decon": self._decontextuality,
            "molec": self._molecular,
            "conditions": CONDITION_MEANING,
            "facets": {name: facet.values for name, facet in self._facets.items()},
        }

    def _once(self, score: str) -> str:
        return self._scores.setdefault(score, score)


def _attributions(row: ConclusionRow) -> list[str]:
    return sorted({slot.attribution for slot in row.missing})


_FACETS: dict[str, Callable[[ConclusionRow], Sequence[str]]] = {
    "label": lambda row: row.labels,
    "time": lambda row: [] if row.time_status is None else [row.time_status],
    "attribution": _attributions,
    "failed": lambda row: [] if row.verdict is None else row.verdict.failed_because,
    "reason": lambda row: [] if row.unjudged is None else [row.unjudged.reason],
}
"""Filter -> the choices that a case falls under."""

"""``windows.html``: every window with its gold facts, questions and set issues, paged, in one file.

The counterpart of ``cases.html``: what was missed, where a conclusion's page tells what was said.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from evals.coverage.metrics import SCORED_IMPORTANCE
from evals.coverage.row import GoldFact
from evals.judging.case import Row
from evals.records import Window
from evals.report import numbers
from evals.report.links import WINDOWS_PAGE
from evals.report.paged import Facet, page_pieces, script_json, script_of
from evals.report.run_windows import RunWindow, run_windows
from evals.report.shared_values import TextTable
from evals.report.spool import Spool
from evals.report.window_details import WindowDetails
from evals.report.window_line import batch_line, facts_text, questions_text
from evals.runs.record import RunInfo
from evals.runs.writer import write_pieces

FINDINGS = {
    "missing": "Missing facts",
    "issues": "Set issues",
    "unjudged": "Unjudged",
    "none": "None of these",
}
"""What a window can show; several at once, but for ``none``. Also the default order of the page."""


def write_windows(
    run_dir: Path, info: RunInfo, rows: Sequence[Row], windows: Mapping[str, Window]
) -> Path:
    """Write ``windows.html`` into the run's folder, whole or not at all, and return its path.

    Args:
        run_dir: of the run.
        info: the run; its policy weighs the facts.
        rows: of all instruments; gone through window by window, and none is kept.
        windows: window id -> window, of every row.

    Raises:
        RunError: it cannot be written, a row's window is not in ``windows``, or a row names a
            conclusion that its window does not have.
    """
    path = run_dir / WINDOWS_PAGE
    write_pieces(path, windows_pieces(info, rows, windows, run_dir))
    return path


def windows_pieces(
    info: RunInfo,
    rows: Sequence[Row],
    windows: Mapping[str, Window],
    spool_dir: Path | None = None,
) -> Iterator[str]:
    """Yield the page: it works from a file, without network, with any number of windows.

    Args:
        info: the run; its policy weighs the facts.
        rows: see ``write_windows``.
        windows: see ``write_windows``.
        spool_dir: where lines wait for their place; None: where the system keeps such files.

    Raises:
        RunError: as ``write_windows``, but for the file; some on the way to their piece.
    """
    details, columns = WindowDetails(), _Columns()
    with Spool(spool_dir) as spool:
        for item in run_windows(rows, windows, info.coverage_policy):
            columns.add(item)
            spool.add(script_json(details.of(item)))
        yield from page_pieces(
            "windows/page.html.j2",
            info,
            script=page_script(),
            css=("windows/page.css",),
            total=numbers.counted(len(columns), "window"),
            index=columns.index,
            shared=lambda: details.shared,
            blocks={"rows": spool.lines()},
        )


def page_script() -> Markup:
    """Return the page's one script, joined from its parts."""
    return script_of("windows/item", "windows/facts", "windows/batch", "windows/window")


class _Columns:
    """What list, filters and order need of each window, as columns."""

    def __init__(self) -> None:
        self._findings: list[list[int]] = []
        self._columns: dict[str, list[str | int]] = {name: [] for name in _COLUMNS}
        self._peers = TextTable()
        self._peer_numbers: list[int] = []
        self._facets = {name: Facet() for name in _FACETS}

    def __len__(self) -> int:
        return len(self._findings)

    def add(self, item: RunWindow) -> None:
        self._findings.append([_NAMES.index(name) for name in _findings(item)])
        for name, column in self._columns.items():
            column.append(_COLUMNS[name](item))
        self._peer_numbers.append(self._peers.number(item.window.peer_id or ""))
        for name, facet in self._facets.items():
            facet.add(_FACETS[name](item))

    @property
    def index(self) -> dict[str, object]:
        return {
            "one": "window",
            "many": "windows",
            "choice": "show",
            "outcomes": [
                [name, title, sum(number in one for one in self._findings)]
                for number, (name, title) in enumerate(FINDINGS.items())
            ],
            "outcome": self._findings,
            "peer": self._peer_numbers,
            "peers": self._peers.texts,
            **self._columns,
            "facets": {name: facet.values for name, facet in self._facets.items()},
        }


def _findings(item: RunWindow) -> list[str]:
    issues = () if item.set_level is None else item.set_level.issues or ()
    there = {
        "missing": bool(_missing(item)),
        "issues": bool(issues),
        "unjudged": bool(item.unjudged_steps),
    }
    return [name for name, is_there in there.items() if is_there] or ["none"]


def _missing(item: RunWindow) -> list[GoldFact]:
    """Return the facts that the deriver's score lacks: explicit and not TRIVIAL (3.1, 3.2)."""
    facts = () if item.coverage is None else item.coverage.gold or ()
    return [
        fact
        for fact in facts
        if fact.status == "MISSING"
        and not fact.requires_inference
        and fact.importance in SCORED_IMPORTANCE
    ]


def _line(item: RunWindow) -> str:
    parts = []
    if item.coverage is not None:
        parts += [facts_text(item.coverage), questions_text(item.coverage)]
    if item.set_level is not None:
        parts.append(batch_line(item.set_level))
    judged = numbers.counted(len(item.verdicts), "conclusion")
    return "; ".join(parts) or f"{judged}, judged one by one"


def _fact_kinds(item: RunWindow) -> list[str]:
    facts = () if item.coverage is None else item.coverage.gold or ()
    return [
        f"{'implicit ' if fact.requires_inference else ''}{fact.importance} "
        f"{fact.status or 'unjudged'}"
        for fact in facts
    ]


def _issue_kinds(item: RunWindow) -> list[str]:
    if item.set_level is None:
        return []
    kinds = [f"{issue.kind} {issue.severity}" for issue in item.set_level.issues or ()]
    return [*kinds, *(["string repeat"] if item.set_level.string_repeats else [])]


def _grades(item: RunWindow) -> list[str]:
    questions = () if item.coverage is None else item.coverage.questions or ()
    return [question.grade or "unjudged" for question in questions]


def _drop_reasons(item: RunWindow) -> list[str]:
    return [] if item.coverage is None else [fact.reason for fact in item.coverage.dropped]


def _percent(value: float | None) -> str:
    return numbers.NOTHING if value is None else numbers.percent(value, 1)


def _unjudged_steps(item: RunWindow) -> list[str]:
    return [f"{step}: {why.reason}" for step, why in item.unjudged_steps]


_NAMES = list(FINDINGS)
_COLUMNS: dict[str, Callable[[RunWindow], str | int]] = {
    "id": lambda item: item.window.window_id,
    "text": _line,
    "pass": lambda item: _percent(item.point.pass_rate),
    "coverage": lambda item: _percent(item.point.coverage_explicit),
    "quality": lambda item: _percent(item.point.quality_coverage if item.verdicts else None),
    "missing": lambda item: len(_missing(item)),
}
_FACETS: dict[str, Callable[[RunWindow], Sequence[str]]] = {
    "fact": _fact_kinds,
    "composite": lambda item: list(item.words.values()),
    "issue": _issue_kinds,
    "grade": _grades,
    "dropped": _drop_reasons,
    "reason": _unjudged_steps,
}
"""Filter -> the choices that a window falls under."""

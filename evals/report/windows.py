"""``windows.html``: every window with its gold facts, questions and set issues, paged, in one file.

The counterpart of ``cases.html``: what was missed, where a conclusion's page tells what was said.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from evals.coverage.metrics import SCORED_IMPORTANCE
from evals.coverage.row import GoldFact
from evals.judging.case import Row
from evals.records import Window
from evals.report import numbers
from evals.report.links import WINDOWS_PAGE
from evals.report.paged import facet, page_pieces, script_of
from evals.report.run_windows import RunWindow, run_windows
from evals.report.shared_values import TextTable
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
        rows: of all instruments.
        windows: window id -> window, of every row.

    Raises:
        RunError: it cannot be written, a row's window is not in ``windows``, or a row names a
            conclusion that its window does not have.
    """
    path = run_dir / WINDOWS_PAGE
    write_pieces(path, windows_pieces(info, rows, windows))
    return path


def windows_pieces(
    info: RunInfo, rows: Sequence[Row], windows: Mapping[str, Window]
) -> Iterator[str]:
    """Yield the page: it works from a file, without network, with any number of windows.

    Raises:
        RunError: as ``write_windows``, but for the file; some on the way to their piece.
    """
    items = run_windows(rows, windows, info.coverage_policy)
    details = WindowDetails()
    return page_pieces(
        "windows/page.html.j2",
        info,
        script=page_script(),
        css=("windows/page.css",),
        total=numbers.counted(len(items), "window"),
        index=_index(items),
        shared=lambda: details.shared,
        blocks={"rows": (details.of(item) for item in items)},
    )


def page_script() -> Markup:
    """Return the page's one script, joined from its parts."""
    return script_of("windows/item", "windows/facts", "windows/batch", "windows/window")


def _index(items: Sequence[RunWindow]) -> dict[str, object]:
    """Return the columns that list, filters and order need, and the filters' choices."""
    found = [_findings(item) for item in items]
    names = list(FINDINGS)
    peers = TextTable()
    return {
        "one": "window",
        "many": "windows",
        "choice": "show",
        "outcomes": [
            [name, title, sum(name in one for one in found)] for name, title in FINDINGS.items()
        ],
        "outcome": [[names.index(name) for name in one] for one in found],
        "id": [item.window.window_id for item in items],
        "text": [_line(item) for item in items],
        "peer": [peers.number(item.window.peer_id or "") for item in items],
        "peers": peers.texts,
        "pass": [_percent(item.point.pass_rate) for item in items],
        "coverage": [_percent(item.point.coverage_explicit) for item in items],
        "quality": [
            _percent(item.point.quality_coverage if item.verdicts else None) for item in items
        ],
        "missing": [len(_missing(item)) for item in items],
        "facets": {
            "fact": facet([_fact_kinds(item) for item in items]),
            "composite": facet([list(item.words.values()) for item in items]),
            "issue": facet([_issue_kinds(item) for item in items]),
            "grade": facet([_grades(item) for item in items]),
            "dropped": facet([_drop_reasons(item) for item in items]),
            "reason": facet(
                [[f"{step}: {why.reason}" for step, why in item.unjudged_steps] for item in items]
            ),
        },
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

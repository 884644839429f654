"""What ``cases.html`` and ``windows.html`` share: one file, paged, that opens without a network.

A page carries blocks of JSON. The index (what one filters, sorts and lists by, as columns) comes
first and is read at once; longer blocks follow, one JSON value a line, and a line is read only when
its item is unfolded. So 50,000 items open as fast as their index. A line is made as it is written.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from markupsafe import Markup

from evals.report import reading
from evals.report.links import CASES_PAGE, REPORT_PAGE, WINDOWS_PAGE
from evals.report.shared_values import TextTable
from evals.report.templates import own_text, pieces_of, script_hash
from evals.runs.record import RunInfo

PAGE_ITEMS = 50
CHOICES_OFFERED = 200
"""Choices in a filter's list, the most frequent; the search finds the others."""

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_SHARED_BEFORE = ("data", "filters", "list", "details", "marks")
_SHARED_AFTER = ("address",)


def script_of(*own_parts: str) -> Markup:
    """Return a page's one script: the shared parts around its own; the last one starts the page.

    Args:
        own_parts: files below ``templates``, as ``cases/case``, in the order in which they run.
    """
    before = [f"paged/{part}" for part in _SHARED_BEFORE]
    after = [f"paged/{part}" for part in _SHARED_AFTER]
    return Markup("\n").join(own_text(f"{part}.js") for part in (*before, *own_parts, *after))


def page_pieces(
    template: str,
    info: RunInfo,
    *,
    script: Markup,
    css: Sequence[str],
    total: str,
    index: dict[str, object],
    shared: Callable[[], dict[str, object]],
    blocks: dict[str, Iterable[object]],
) -> Iterator[str]:
    """Yield a whole page, piece by piece.

    Args:
        template: extends ``paged/page.html.j2``.
        info: the run.
        script: as ``script_of`` gives it; nothing else may run on the page.
        css: style sheets below ``templates``, over the shared one.
        total: how many items of which kind: ``1,200 conclusions``.
        index: columns and filters, read at once.
        shared: gives what many items refer to by number; called once every block is written.
        blocks: name -> values, one line each; used up one by one.
    """
    pages = {"cases": CASES_PAGE, "windows": WINDOWS_PAGE}
    sheets = ("paged/page.css", *css)
    return pieces_of(
        template,
        {
            "info": info,
            "css": Markup("\n").join(own_text(sheet) for sheet in sheets),
            "script": script,
            "script_hash": script_hash(script),
            "report_page": REPORT_PAGE,
            "cases_page": CASES_PAGE,
            "windows_page": WINDOWS_PAGE,
            "incomplete": reading.incomplete_line(info),
            "calibration": reading.calibration_line(info),
            "recorded": info.judge_mode_why if info.judge_mode == "recorded" else None,
            "total": total,
            "index": script_json(
                {"page": PAGE_ITEMS, "offered": CHOICES_OFFERED, "pages": pages} | index
            ),
            "blocks": {name: map(script_json, values) for name, values in blocks.items()},
            "shared": lambda: script_json(shared()),
        },
    )


def script_json(value: object) -> Markup:
    r"""Return ``value`` as JSON on one line that can stand inside a script element.

    ``<`` becomes ``\u003c``, which JSON reads as the same text, so nothing in it can close the
    element or open a comment.
    """
    return Markup(_to_json(value).replace("<", "\\u003c"))  # noqa: S704  this is the escaping


def facet(groups: Sequence[Sequence[str]]) -> dict[str, object]:
    """Return a filter: its choices, the most frequent first, and each item's choices by number.

    Args:
        groups: the choices that each item falls under; one that it has several times counts once.
    """
    sets = [list(dict.fromkeys(group)) for group in groups]
    counted = Counter(text for group in sets for text in group)
    ordered = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    table = TextTable([text for text, _ in ordered])
    return {
        "choices": [[text, items] for text, items in ordered],
        "rows": [[table.number(text) for text in group] for group in sets],
    }

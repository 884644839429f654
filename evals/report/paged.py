"""What ``cases.html`` and ``windows.html`` share: one file, paged, that opens without a network.

A page carries blocks of JSON. The index (what one filters, sorts and lists by, as columns) comes
first and is read at once; longer blocks follow, one JSON value a line, and a line is read only when
its item is unfolded. So 50,000 items open as fast as their index. A line is made as it is written.
"""

import json
from array import array
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
    blocks: dict[str, Iterable[str]],
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
        blocks: name -> lines, each as ``script_json`` gives it; used up one by one.
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
            "index": _object_pieces(
                {"page": PAGE_ITEMS, "offered": CHOICES_OFFERED, "pages": pages} | index
            ),
            # What ``script_json`` gave has its escaping behind it.
            "blocks": {name: map(Markup, lines) for name, lines in blocks.items()},
            "shared": lambda: script_json(shared()),
        },
    )


def script_json(value: object) -> Markup:
    r"""Return ``value`` as JSON on one line that can stand inside a script element.

    ``<`` becomes ``\u003c``, which JSON reads as the same text, so nothing in it can close the
    element or open a comment.
    """
    return Markup(_to_json(value).replace("<", "\\u003c"))  # noqa: S704  this is the escaping


def _object_pieces(values: dict[str, object]) -> Iterator[Markup]:
    """Yield ``script_json(values)`` value by value, so that a long one is never whole in memory."""
    before = Markup("{")
    for name, value in values.items():
        yield before + script_json(name) + Markup(":")
        yield script_json(value)
        before = Markup(",")
    yield Markup("}")


class Facet:
    """A filter in the making, item by item: equal groups of choices are held once."""

    def __init__(self) -> None:
        """Start without any item."""
        self._groups: dict[tuple[str, ...], int] = {}
        self._of_items = array("L")

    def add(self, choices: Iterable[str]) -> None:
        """Take the choices that an item falls under; one that it has several times counts once."""
        group = tuple(dict.fromkeys(choices))
        self._of_items.append(self._groups.setdefault(group, len(self._groups)))

    @property
    def values(self) -> dict[str, object]:
        """The choices, the most frequent first, and each item's choices by number."""
        counted: Counter[str] = Counter()
        items_of = Counter(self._of_items)
        for group, number in self._groups.items():
            counted.update(dict.fromkeys(group, items_of[number]))
        ordered = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
        table = TextTable([text for text, _ in ordered])
        groups = [[table.number(text) for text in group] for group in self._groups]
        return {
            "choices": [[text, items] for text, items in ordered],
            "rows": [groups[number] for number in self._of_items],
        }

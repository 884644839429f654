"""The pages of a run, side by side in its folder, and the addresses of what stands on them."""

import re
from urllib.parse import quote, urlencode

from evals.runs.info import ROWS_FILE

REPORT_PAGE, CASES_PAGE, WINDOWS_PAGE = "report.html", "cases.html", "windows.html"

# Only a tag of our own: in text of a trace, ``<`` is escaped.
_OWN_FILES = "|".join(re.escape(name) for name in (CASES_PAGE, WINDOWS_PAGE, ROWS_FILE))
_OWN_LINK = re.compile(rf'(<a href="?)({_OWN_FILES})')


def case_link(case_id: str) -> str:
    """Return the address of a case beside the report: ``cases.html#<case id>``, percent-encoded."""
    return f"{CASES_PAGE}#{_fragment(case_id)}"


def window_link(window_id: str) -> str:
    """Return the address of a window: ``windows.html#<window id as given>``, percent-encoded."""
    return f"{WINDOWS_PAGE}#{_fragment(window_id)}"


def cases_link(**filters: str) -> str:
    """Return the address of ``cases.html`` with filters set: ``cases.html#?verdict=unsound``."""
    return f"{CASES_PAGE}#?{urlencode(filters)}"


def windows_link(**filters: str) -> str:
    """Return the address of ``windows.html`` with filters set: ``windows.html#?show=missing``."""
    return f"{WINDOWS_PAGE}#?{urlencode(filters)}"


def moved_to(html: str, way: str) -> str:
    """Return ``html`` with its links to the files of the run leading into the folder ``way``.

    Args:
        html: of this package: first screen or table cells.
        way: relative path from where ``html`` stands, as the system writes it: encoded here, since
            it can hold what would end an attribute. ``.`` changes nothing.
    """
    if way == ".":
        return html
    encoded = quote(way)
    return _OWN_LINK.sub(lambda tag: f"{tag[1]}{encoded}/{tag[2]}", html)


def _fragment(text: str) -> str:
    return quote(text, safe="/", errors="replace")

"""Between pytest and pytest-html's table: which tests it hears of, and when.

Of a large run only at its end: no earlier is it known which rows it should show, and a row that is
not shown costs nothing: no HTML, no JSON, no place in pytest-html's memory. The reports themselves
are kept by pytest's terminal reporter anyway. Of a run that is shown whole, as the tests end, while
the run waits for its next answers anyway.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pytest_html.basereport import BaseReport  # type: ignore[import-untyped]  # no types

from evals.plugin.run import Ended
from evals.report.shown import RowKind, ShownRows, choose_rows

_HELD_BACK = "pytest_runtest_logreport"
_EVALUATED = [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]


class QuietPage:
    """Stands for pytest-html's page among the plugins: every hook of it but that of a test."""

    def __init__(
        self,
        page: BaseReport,
        is_wanted: Callable[[], bool],
        on_unwritable: Callable[[OSError], None],
    ) -> None:
        """Take over the hooks of ``page``.

        Args:
            page: pytest-html's.
            is_wanted: tells, at the end, whether there is anything to write of.
            on_unwritable: told why the page could not be written.
        """
        self._page = page
        self._is_wanted = is_wanted
        self._on_unwritable = on_unwritable
        self._is_written = False
        for name in dir(page):
            if name.startswith("pytest_") and name not in {_HELD_BACK, *vars(QuietPage)}:
                setattr(self, name, getattr(page, name))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page; a full disk is no reason to leave the user without the summary."""
        if not self._is_wanted():
            return
        try:
            self._page.pytest_sessionfinish(session)
        except OSError as error:
            self._on_unwritable(error)
        else:
            self._is_written = True

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the page is."""
        if self._is_written:
            self._page.pytest_terminal_summary(terminalreporter)


class HeldRows:
    """The reports of the tests that have ended, by test."""

    def __init__(
        self, page: BaseReport, rows: Mapping[str, Ended], all_fit: Callable[[], bool]
    ) -> None:
        """Start without any.

        Args:
            page: pytest-html's, which is told of the rows to draw.
            rows: node id -> what is kept of it, of every test that came to a row.
            all_fit: tells, once tests end, whether every one of the run is drawn.
        """
        self._page = page
        self._rows = rows
        self._all_fit = all_fit
        self._by_test: dict[str, list[pytest.TestReport]] = {}
        self._told: Counter[str] = Counter()
        """How many of a test's reports the page was told."""

    def hold(self, report: pytest.TestReport) -> None:
        """Keep the report of one phase of a test; draw the test, if that can be known now."""
        self._by_test.setdefault(report.nodeid, []).append(report)
        if report.when == "teardown" and self._all_fit():
            self._tell(report.nodeid)

    def draw(self, data: Any) -> ShownRows:
        """Tell the page of the rows that it draws, and count the others; return the choice.

        Args:
            data: pytest-html's ``ReportData``, which keeps rows and counts.
        """
        node_ids = list(self._by_test)
        choice = choose_rows([self._kind(node_id) for node_id in node_ids])
        drawn = [node_ids[place] for place in choice.places]
        for node_id in drawn:
            self._tell(node_id)
        for node_id in self._by_test.keys() - set(drawn):
            if self._is_evaluated(node_id):
                self._count(node_id, data.outcomes)
            else:  # what it counts as is pytest-html's to say
                self._tell(node_id)
                data.data["tests"].pop(node_id, None)
        return choice

    def _kind(self, node_id: str) -> RowKind:
        if not self._is_evaluated(node_id):
            return "failed"
        row = self._rows.get(node_id)
        return "other" if row is None else row.outcome

    def _is_evaluated(self, node_id: str) -> bool:
        """Whether a test passed, plainly, so that it counts as one passed test and no more."""
        reports = self._by_test[node_id]
        # Where a worker of xdist died in it, a phase may be there twice.
        phases = list(dict.fromkeys((one.when, one.outcome) for one in reports))
        return phases == _EVALUATED and not any(hasattr(one, "wasxfail") for one in reports)

    def _tell(self, node_id: str) -> None:
        for report in self._by_test[node_id][self._told[node_id] :]:
            self._page.pytest_runtest_logreport(report)
            self._told[node_id] += 1

    def _count(self, node_id: str, outcomes: dict[str, dict[str, Any]]) -> None:
        outcomes["passed"]["value"] += 1
        row = self._rows.get(node_id)
        if row is not None:
            outcomes[row.outcome]["value"] += 1

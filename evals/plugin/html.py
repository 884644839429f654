"""Puts the run into pytest-html's page: headline above the table, one light row a conclusion."""

import os
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from pytest_html.basereport import BaseReport  # type: ignore[import-untyped]  # no types

from evals.errors import ConfigError, RunError
from evals.files import OWNER_ONLY, make_private
from evals.plugin.html_rows import HeldRows, QuietPage
from evals.plugin.run import EvalRun
from evals.report.links import moved_to
from evals.report.page import headline_html
from evals.report.rows import (
    REPORT_PAGE,
    RowCells,
    cells_of,
    empty_cells,
    filter_outcomes,
    header_cells,
)
from evals.report.shown import SHOWN_ROWS, shown_rows_html
from evals.untrusted import for_terminal


class HtmlPage:
    """pytest-html's own hooks, for a run with a record."""

    def __init__(self, config: pytest.Config, run: EvalRun) -> None:
        """Take the run whose rows are shown."""
        self._config = config
        self._run = run
        self._data: Any = None
        self._held: HeldRows | None = None
        self._above_table = ""
        self._has_every_row = True

    @classmethod
    def install(cls, config: pytest.Config, run: EvalRun) -> None:
        """Send pytest-html's page into the run's folder, unless the user named another place."""
        option = config.option
        if not config.pluginmanager.hasplugin("html") or option.collectonly:
            return
        if not config.pluginmanager.hasplugin("metadata"):
            raise ConfigError(
                "-p no:metadata",
                "pytest-html, which cannot write its page without pytest-metadata",
                "both, or neither",
                "Drop the option, or add -p no:html for a run without report.html.",
            )
        named_by = "--html"
        if option.htmlpath is None:
            named_by = "--reports-dir"
            option.htmlpath = str(run.config.run_dir / REPORT_PAGE)
            option.self_contained_html = True
        try:  # pytest-html makes the folder too, and says nothing useful where it cannot
            make_private(Path(option.htmlpath).parent)
        except OSError as error:
            raise ConfigError(
                named_by,
                for_terminal(str(error)),
                "a folder that can be written",
                "Choose another place for the report.",
            ) from error
        config.pluginmanager.register(cls(config, run))

    @staticmethod
    def withdraw(config: pytest.Config) -> None:
        """Leave no page of a run that stopped before its first test."""
        for plugin in config.pluginmanager.get_plugins():
            if isinstance(plugin, BaseReport | QuietPage):
                config.pluginmanager.unregister(plugin)

    def pytest_plugin_registered(self, plugin: object, manager: pytest.PytestPluginManager) -> None:
        """Come between the tests and the page, unless it is to be written after each test."""
        if isinstance(plugin, BaseReport) and not self._config.getini("generate_report_on_test"):
            self._held = HeldRows(plugin, self._run.ended, self._all_rows_fit)
            manager.unregister(plugin)
            manager.register(QuietPage(plugin, self._is_wanted, self._tell_unwritable))

    def pytest_html_report_title(self, report: Any) -> None:
        """Name the page, and give every recorded outcome its own filter."""
        self._data = report
        report.title = f"Conclusion quality: {self._run.config.run_id}"
        # A passed test means that the evaluation ran, not that the conclusion is sound.
        report.outcomes["passed"]["label"] = "Evaluated"
        report.outcomes.update(filter_outcomes())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hold a report back until the run's end."""
        if self._held is not None:
            self._held.hold(report)

    def pytest_sessionfinish(self) -> None:
        """Let the page have its rows, before it is written."""
        if self._held is not None:
            self._above_table = shown_rows_html(self._held.draw(self._data))

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Title the columns: ours, then pytest's result, test id and duration."""
        result, test_id, duration, _ = cells
        result = re.sub(r">Result<", ">pytest<", result)
        cells[:] = [*map(str, header_cells()), result, test_id, duration]

    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Fill the columns of one row."""
        result, test_id, duration, _ = cells
        ended = self._run.ended.get(report.nodeid)
        # Of setup and teardown, pytest-html keeps what failed.
        is_shown = report.when == "call" or not report.passed
        own = empty_cells()
        if ended is not None and is_shown:
            own = self._cells_of(report.nodeid)
        if ended is not None and report.when == "call":
            self._data.outcomes[ended.outcome]["value"] += 1
        cells[:] = [*(self._with_links(str(cell)) for cell in own), result, test_id, duration]

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Make the page private like the rest of the record: it quotes what people said."""
        path = Path(config.option.htmlpath)
        if path.is_file():
            path.chmod(OWNER_ONLY)
        remove_if_empty(self._run.config.run_dir)

    def pytest_html_results_summary(self, prefix: list[str], postfix: list[str]) -> None:
        """Put the headline above the counts, and what the table leaves out above the table."""
        if self._above_table:
            postfix.append(self._with_links(self._above_table))
        if self._run.info is not None and self._run.summary is not None:
            page = headline_html(self._run.info, self._run.summary)
            prefix.append(self._with_links(page))

    def _cells_of(self, node_id: str) -> RowCells:
        try:
            return cells_of(self._run.ended_row(node_id))
        except RunError as error:  # the record was removed, or cut off, under the run
            self._run.untold = self._run.untold or error
            self._has_every_row = False
            return empty_cells()

    def _is_wanted(self) -> bool:
        return self._run.started and self._has_every_row

    def _all_rows_fit(self) -> bool:
        return 0 < self._run.items <= SHOWN_ROWS

    def _tell_unwritable(self, error: OSError) -> None:
        path = Path(self._config.option.htmlpath)
        path.unlink(missing_ok=True)  # half a page would pass for a whole one
        self._run.untold = self._run.untold or RunError(
            for_terminal(str(path)),
            for_terminal(str(error)),
            "a place that can be written",
            "Free space, and run again: what is answered is kept. Or choose another place.",
        )

    def _with_links(self, html: str) -> str:
        """Lead links into the run's folder where --html put the page elsewhere."""
        return moved_to(html, self._way_to_run)

    @cached_property
    def _way_to_run(self) -> str:
        here = Path(self._config.option.htmlpath).parent
        return os.path.relpath(self._run.config.run_dir, here)


def remove_if_empty(folder: Path) -> None:
    """Remove the folder that pytest-html made for the page of a run that never began."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()

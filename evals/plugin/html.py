"""Puts the run into pytest-html's page: headline above the table, one light row a conclusion."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from pytest_html.basereport import BaseReport  # type: ignore[import-untyped]  # no types

from evals.errors import ConfigError
from evals.plugin.run import EvalRun
from evals.report.links import moved_to
from evals.report.page import headline_html
from evals.report.rows import (
    REPORT_PAGE,
    cells_of,
    empty_cells,
    filter_outcomes,
    header_cells,
)
from evals.untrusted import for_terminal

_OWNER_ONLY = 0o600


class HtmlPage:
    """pytest-html's own hooks, for a run with a record."""

    def __init__(self, config: pytest.Config, run: EvalRun) -> None:
        """Take the run whose rows are shown."""
        self._config = config
        self._run = run
        self._outcomes: dict[str, dict[str, Any]] = {}

    @classmethod
    def install(cls, config: pytest.Config, run: EvalRun) -> None:
        """Send pytest-html's page into the run's folder, unless the user named another place."""
        option = config.option
        if not config.pluginmanager.hasplugin("html") or option.collectonly:
            return
        if option.htmlpath is None:
            option.htmlpath = str(run.config.run_dir / REPORT_PAGE)
            option.self_contained_html = True
        try:  # pytest-html makes the folder too, and says nothing useful where it cannot
            Path(option.htmlpath).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                "--reports-dir",
                for_terminal(str(error)),
                "a folder that can be written",
                "Choose another place for the reports.",
            ) from error
        config.pluginmanager.register(cls(config, run))

    @staticmethod
    def withdraw(config: pytest.Config) -> None:
        """Leave no page of a run that stopped before its first test."""
        for plugin in config.pluginmanager.get_plugins():
            if isinstance(plugin, BaseReport):
                config.pluginmanager.unregister(plugin)

    def pytest_html_report_title(self, report: Any) -> None:
        """Name the page, and give every recorded outcome its own filter."""
        report.title = f"Conclusion quality: {self._run.config.run_id}"
        self._outcomes = report.outcomes
        # A passed test means that the evaluation ran, not that the conclusion is sound.
        self._outcomes["passed"]["label"] = "Evaluated"
        self._outcomes.update(filter_outcomes())

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Title the columns: ours, then pytest's result, test id and duration."""
        result, test_id, duration, _ = cells
        result = re.sub(r">Result<", ">pytest<", result)
        cells[:] = [*map(str, header_cells()), result, test_id, duration]

    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Fill the columns of one row."""
        result, test_id, duration, _ = cells
        row = self._run.rows.get(report.nodeid)
        own = empty_cells() if row is None else cells_of(row)
        if row is not None and row.outcome in self._outcomes and report.when == "call":
            self._outcomes[row.outcome]["value"] += 1
        cells[:] = [*(self._with_links(str(cell)) for cell in own), result, test_id, duration]

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Make the page private like the rest of the record: it quotes what people said."""
        path = Path(config.option.htmlpath)
        if path.is_file():
            path.chmod(_OWNER_ONLY)
        remove_if_empty(self._run.config.run_dir)

    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Put the headline above the table."""
        if self._run.info is not None and self._run.summary is not None:
            page = headline_html(self._run.info, self._run.summary)
            prefix.append(self._with_links(page))

    def _with_links(self, html: str) -> str:
        """Lead links into the run's folder where --html put the page elsewhere."""
        here = Path(self._config.option.htmlpath).parent
        return moved_to(html, os.path.relpath(self._run.config.run_dir, here))


def remove_if_empty(folder: Path) -> None:
    """Remove the folder that pytest-html made for the page of a run that never began."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()

"""xdist's hooks in the controlling process: what workers are told, and what the dead leave behind.

Only the controller judges, so nothing that a worker takes with it is lost. A worker that dies
leaves items without a report: those end as their rows say, reported from here, each once.
"""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal

import pytest

from evals.errors import ConfigError, EvalError
from evals.plugin.delivery import WORKER_INPUT, WorkerInput
from evals.plugin.outcomes import EXIT_HARD
from evals.plugin.preflight import StopRunError
from evals.plugin.properties import properties_of
from evals.plugin.run import EvalRun

Phase = Literal["setup", "call", "teardown"]


class Workers:
    """Hooks of a run with ``-n``; none of them is called without."""

    def __init__(
        self, run: EvalRun, config: pytest.Config, start: Callable[[Sequence[str]], None]
    ) -> None:
        """Take the run.

        Args:
            run: what is judged.
            config: pytest's.
            start: called once, with the ids that the workers have selected.
        """
        self._run = run
        self._config = config
        self._start = start
        self._ids: Sequence[str] | None = None
        """Selected items; None until the first worker has told them."""
        self._deaths: list[str] = []
        self._crashes: dict[str, Any] = {}
        """Item -> the worker that died in it."""
        self._silenced: pytest.TestReport | None = None
        self._seen: dict[str, pytest.TestReport] = {}
        """Item -> its last report, until the one of its teardown."""
        self._ended: set[str] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[Any]) -> None:
        """Refuse what would report an item twice, or never."""
        error = None
        if config.option.dist not in {"no", "load", "worksteal"}:
            # ``each`` runs every item on every worker; those that keep scopes together run an item
            # again whose worker died, and can wait for ever then (seen with xdist 3.8).
            error = ConfigError(
                "--dist",
                config.option.dist,
                "load or worksteal: every item once, on whichever worker is free",
                "Use -n alone: the tests only wait for what is judged elsewhere.",
            )
        elif any(not spec.popen or spec.chdir for spec in specs):
            error = ConfigError(
                "--tx",
                f"{', '.join(config.option.tx)}",
                "workers of this machine and this folder (popen)",
                "Use -n: the calls are made from here in any case.",
            )
        if error is not None:
            raise pytest.UsageError(str(error))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which run it belongs to, and its items."""
        run = self._run
        told = WorkerInput(
            run_id=run.config.run_id,
            store_path=str(run.config.store_path.absolute()),
            case_ids=run.catalog.case_ids,
        )
        node.workerinput[WORKER_INPUT] = told.as_plain()
        # xdist may have items for a worker that has died and that it has not missed yet, and ends
        # the whole session for it. It hears of the death next, and gives the items to another.
        send = node.sendcommand

        def send_to_the_living(name: str, **content: object) -> None:
            with suppress(OSError):
                send(name, **content)

        node.sendcommand = send_to_the_living

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Start the calls when the first worker says what is selected."""
        if self._ids is None:
            self._ids = ids
            if ids:
                self._start(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Remember that a worker did not end by itself."""
        if error is not None:
            self._deaths.append(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Take the death for no outcome, but a setup that passed: ``end_items`` says the rest."""
        if self._run.catalog.knows(crashitem):
            self._crashes[crashitem] = report.node
            self._silenced = report
            report.when = "setup"
            report.outcome = "passed"
            report.longrepr = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember how far an item has come."""
        if report.when == "teardown":
            self._ended.add(report.nodeid)
            self._seen.pop(report.nodeid, None)
        elif report is not self._silenced:
            self._seen[report.nodeid] = report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Drop the case without a name that JUnit's report makes of a death between two items."""
        for plugin in self._config.pluginmanager.get_plugins() if self._crashes else ():
            cases = getattr(plugin, "node_reporters_ordered", None)
            if cases is not None:
                cases[:] = [case for case in cases if getattr(case, "attrs", None) != {}]

    def end_items(self) -> None:
        """Report the items that dead workers left, once no worker is there any more.

        Raises:
            StopRunError: every worker died before it could say what is selected.
        """
        if not self._deaths:
            return
        if self._ids is None:
            raise StopRunError(
                EXIT_HARD,
                "Every xdist worker died before it had collected. Nothing was judged. Run with"
                " -n 0 to see why.",
            )
        for node_id in self._ids:
            if node_id in self._ended or not self._run.catalog.knows(node_id):
                continue
            if self._run.stopped_by is not None or self._run.closed:  # the latter by ``-x``
                break
            for report in self._reports(node_id):
                self._config.hook.pytest_runtest_logreport(report=report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which workers died, and that nothing is missing for it."""
        if self._deaths and self._run.started:
            terminalreporter.section("workers that died", sep="-", yellow=True)
            where = [f"{self._crashes[item].gateway.id} in {item}" for item in self._crashes]
            text = (
                f"{', '.join(self._deaths)}. No answer is lost with them: an item that a worker"
                " left ends as its row says, unless the run was stopped first."
            )
            terminalreporter.write_line(textwrap.fill(text, 80))
            for line in where:
                terminalreporter.write_line(line)

    def _reports(self, node_id: str) -> Iterator[pytest.TestReport]:
        seen = self._seen.get(node_id)
        last = seen
        if seen is None or (seen.when == "setup" and seen.passed):
            for last in self._judged(node_id):
                if seen is None or last.when == "call":
                    yield last
        teardown = self._report(node_id, "teardown")
        teardown.user_properties = [] if last is None else last.user_properties
        yield teardown

    def _judged(self, node_id: str) -> Iterator[pytest.TestReport]:
        try:
            judged = self._run.wait_for(node_id)
        except EvalError as error:
            yield self._report(node_id, "setup", f"{type(error).__name__}: {error}")
            return
        yield self._report(node_id, "setup")
        call = self._report(node_id, "call", judged.shortfall)
        is_recorded = self._run.catalog.suite(node_id).recorded
        call.user_properties = properties_of(judged) if is_recorded else []
        yield call

    def _report(self, node_id: str, when: Phase, failure: str = "") -> pytest.TestReport:
        path, _, name = node_id.partition("::")
        report = pytest.TestReport(
            nodeid=node_id,
            location=(path, None, name),
            keywords={},
            outcome="failed" if failure else "passed",
            longrepr=failure or None,
            when=when,
        )
        if node_id in self._crashes:
            # Reporters tell items apart by their worker, too.
            report.__dict__["node"] = self._crashes[node_id]
        return report

"""The hooks of the process that runs the evaluations: the only process, or xdist's controller."""

import textwrap
from collections.abc import Generator, Sequence
from typing import Any, NoReturn

import pytest

from evals.errors import EvalError
from evals.judge_process import collector
from evals.judge_process.catalog import Catalog
from evals.judging.judged import Judged
from evals.plugin.batch_lines import batch_lines
from evals.plugin.html import HtmlPage
from evals.plugin.items import may_judge, parametrize
from evals.plugin.outcomes import EXIT_HARD, EXIT_NOTHING, EXIT_UNCALIBRATED, exit_code, status_of
from evals.plugin.preflight import StopRunError
from evals.plugin.run import EvalRun
from evals.plugin.signals import Signals
from evals.plugin.workers import Workers
from evals.report.terminal import paths_in, summary_lines
from evals.untrusted import for_terminal


class Controller:
    """Starts the run once the items are known, writes rows as tests end, closes the record."""

    def __init__(self, run: EvalRun, config: pytest.Config, signals: Signals) -> None:
        """Take the run; pytest has parsed its options."""
        self.run = run
        self.workers = Workers(run, config, self._start_for_workers)
        self._config = config
        self._interrupted = False
        self._failures = 0
        self._signals = signals
        signals.hurry = run.hurry
        run.on_undelivered = lambda error: signals.wake(lambda: self._halt(error))

    @property
    def catalog(self) -> Catalog:
        """The cases of the run."""
        return self.run.catalog

    @property
    def _makes_no_calls(self) -> bool:
        return not may_judge(self._config)

    @property
    def _is_at_maxfail(self) -> bool:
        maxfail = self._config.option.maxfail
        return bool(maxfail) and self._failures >= maxfail

    @property
    def _with_xdist(self) -> bool:
        # Asked late: xdist registers itself after this plugin is configured.
        return self._config.pluginmanager.hasplugin("dsession")

    def judged(self, node_id: str, session: pytest.Session) -> Judged:
        """Wait for an item's row; what stops the run stops the session, with one message."""
        try:
            return self.run.wait_for(node_id)
        except EvalError as error:
            met = error
        # Out here, so that it carries no context: pytest would print that beside it, as a second.
        if met.stops_run:
            session.shouldfail = f"the run was stopped: {type(met).__name__}"
        pytest.fail(f"{type(met).__name__}: {met}", pytrace=False)

    def pytest_report_header(self) -> list[str]:
        """Say who judges, and whether that judge is calibrated."""
        config, calibration = self.run.config, self.run.calibration
        state = "calibrated" if calibration.calibrated else "NOT CALIBRATED"
        judge = f"{for_terminal(config.judge_model)}, reasoning {config.reasoning}"
        return [
            f"judge: {judge}; {config.judge_mode_why}",
            f"calibration: {state}; {for_terminal(calibration.why)}",
            f"run: {config.run_id}; answers are kept in {for_terminal(str(config.store_path))}",
        ]

    def pytest_sessionstart(self) -> None:
        """Read the inputs; a bad one is a usage error with one message."""
        if self.run.config.plan and self._with_xdist:
            raise pytest.UsageError(
                "--plan: found -n beside it; wanted one process, which is all that a plan takes."
                " Drop -n."
            )
        try:
            self.catalog.load()
        except EvalError as error:
            raise pytest.UsageError(str(error)) from error
        if not self.catalog.node_ids:
            self.run.close()
            pytest.exit(
                f"{', '.join(map(str, self.run.config.trace_paths))}: found nothing to judge;"
                " wanted at least one conclusion. Check that the deriver wrote any.",
                returncode=EXIT_NOTHING,
            )

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize."""
        parametrize(metafunc, self.catalog.case_ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge in the background while pytest runs the tests, and never longer."""
        collector.relax()
        try:
            self._start_if_asked(session)
            result = yield
            self._end_items()
            return result  # noqa: TRY300  what ending them meets is met as the loop is
        except KeyboardInterrupt as error:
            # xdist's and pytest's own ways to stop a session are subclasses.
            self._interrupted = type(error) is KeyboardInterrupt
            raise
        finally:
            self._signals.end()
            self.run.on_undelivered = lambda _: None  # nobody waits any more
            self.run.close(at_once=self._interrupted)
            if not self.run.started:
                HtmlPage.withdraw(self._config)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the row of a test that has ended, however it ended."""
        if report.when == "call" and not report.skipped:
            try:
                self.run.record(report.nodeid)
            except EvalError as error:
                self._halt(error)
        self._failures += report.failed
        if self._with_xdist and self._is_at_maxfail:
            # xdist lets its workers finish what they have; they must not wait for rows.
            self.run.close()

    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> Any:
        """Show a recorded outcome as itself."""
        return status_of(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Close the record; then let gates and unjudged items decide the exit code.

        The code is set last: other plugins combine theirs with what they find bit by bit.
        """
        self._signals.end()  # said by now, unless it was interrupted before its tests
        interrupted = self._interrupted or session.exitstatus == pytest.ExitCode.INTERRUPTED
        try:
            self.run.finish(interrupted=interrupted)
            self.run.check_store()
        except EvalError as error:
            self.run.untold = self.run.untold or error
        yield
        if self.run.untold is not None and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = EXIT_HARD
        if self.run.started:
            code = int(session.exitstatus)
            if not self._interrupted and (self.run.stopped_by is not None or self._is_at_maxfail):
                code = EXIT_HARD  # xdist calls both an interrupt
            session.exitstatus = exit_code(
                code,
                leaked=self.run.leaked,
                complete=self.run.complete,
                judged_nothing=not self.run.ended,
                unjudged_share=self.run.unjudged_share(),
                allow_unjudged=self.run.config.allow_unjudged,
                gates=() if self.run.info is None else self.run.info.gates,
            )

    def pytest_unconfigure(self) -> None:
        """Clear what the workers read, now that they are gone."""
        self.run.close()
        self.run.forget_deliveries()
        collector.relax()  # pytest collects five times over before it ends

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what stopped the run and no test could say, and the figures of the run."""
        untold = self.run.untold
        if untold is not None:
            terminalreporter.section("the run did not come to its end", sep="-", red=True)
            text = f"{type(untold).__name__}: {untold}"
            terminalreporter.write_line(textwrap.fill(text, 80, break_long_words=False))
        if self.run.info is None or self.run.summary is None:
            return
        paths = paths_in(self.run.config.run_dir)
        terminalreporter.section("conclusion quality")
        for line in summary_lines(self.run.info, self.run.summary, paths):
            terminalreporter.write_line(line)
        for reason, detail in self.run.first_gaps().items():
            terminalreporter.section(f"first {reason}", sep="-")
            terminalreporter.write_line(textwrap.fill(for_terminal(detail, 600), 80))
        told = batch_lines(None if self.run.counts is None else self.run.counts.round)
        if told:
            terminalreporter.section("batches", sep="-")
            terminalreporter.write_line("\n".join(textwrap.fill(line, 80) for line in told))

    def _start_if_asked(self, session: pytest.Session) -> None:
        keeps_on = session.config.option.continue_on_collection_errors
        if self._makes_no_calls or (session.testsfailed and not keeps_on):
            return
        if self.run.config.plan:
            self._show_plan([item.nodeid for item in session.items])
        self._require_calibration()
        if not self._with_xdist and session.items:
            self._start([item.nodeid for item in session.items], for_workers=False)

    def _start(self, node_ids: Sequence[str], *, for_workers: bool) -> None:
        try:
            self.run.start(node_ids, for_workers=for_workers)
        except StopRunError as stop:
            self._stop(stop)
        except EvalError as error:
            self._stop(StopRunError(int(pytest.ExitCode.USAGE_ERROR), str(error)))
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            for line in self.run.under_way_lines:
                terminal.write_line(line)

    def _start_for_workers(self, node_ids: Sequence[str]) -> None:
        self._start(node_ids, for_workers=True)

    def _end_items(self) -> None:
        try:
            self.workers.end_items()
        except StopRunError as stop:
            self._stop(stop)

    def _halt(self, error: EvalError) -> NoReturn:
        """End the session from within a hook."""
        self.run.untold = self.run.untold or error
        self.run.stopped_by = self.run.stopped_by or error
        pytest.exit(f"the run was stopped: {type(error).__name__}", returncode=EXIT_HARD)

    def _show_plan(self, node_ids: Sequence[str]) -> NoReturn:
        try:
            lines = self.run.plan(node_ids)
        except EvalError as error:
            self._stop(StopRunError(int(pytest.ExitCode.USAGE_ERROR), str(error)))
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.write_line("\n".join(lines))
        pytest.exit("nothing was judged: this was a plan", returncode=int(pytest.ExitCode.OK))

    def _require_calibration(self) -> None:
        calibration = self.run.calibration
        if self.run.config.require_calibration and not calibration.calibrated:
            self._stop(StopRunError(EXIT_UNCALIBRATED, f"Not calibrated: {calibration.why}"))

    def _stop(self, stop: StopRunError) -> NoReturn:
        self.run.close()
        HtmlPage.withdraw(self._config)
        text = textwrap.fill(str(stop), 80, break_long_words=False, break_on_hyphens=False)
        if stop.code == pytest.ExitCode.USAGE_ERROR:
            raise pytest.UsageError(text) from stop
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.write_line(f"\n{text}")
        pytest.exit("nothing was judged", returncode=stop.code)

"""One run: from the selected items to the record on disk. Knows nothing of pytest's hooks."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime

from calibration.gallery import SpecimenRow
from calibration.stamp import write_stamp_of
from evals import BENCH_VERSION
from evals.config import ROOT, RunConfig
from evals.errors import EvalError, IsolationError, StoreError
from evals.judge_process.catalog import Catalog
from evals.judge_process.client import JudgeProcess
from evals.judge_process.process import StartedProcess
from evals.judge_process.wire import Start
from evals.judging.case import Row, RunContext
from evals.judging.engine import EngineCounts
from evals.judging.gaps import gaps_of
from evals.judging.prices import load_prices
from evals.judging.request import JudgeSettings
from evals.judging.store import AnswerStore
from evals.metrics import load_statistics
from evals.plugin.delivery import ABORTED, result_text
from evals.plugin.plan import plan_lines, plan_of
from evals.plugin.preflight import largest_share, stop_without_answers
from evals.premise.row import ConclusionRow
from evals.report.cases import write_cases
from evals.report.queue_file import write_queue
from evals.report.windows import write_windows
from evals.runs.bought import bought_fields
from evals.runs.calibration import CalibrationState, after_run
from evals.runs.gates import check_gates, parse_gates
from evals.runs.provenance import GitState, git_state
from evals.runs.record import RunInfo, RunWriter
from evals.runs.sharing import SharedProvenance
from evals.runs.summary import RunSummary, rows_of, summarize


class EvalRun:
    """The state of one run in the process that makes the calls."""

    def __init__(
        self,
        config: RunConfig,
        catalog: Catalog,
        prompt_hashes: Mapping[str, str],
        calibration: CalibrationState,
    ) -> None:
        """Check what can be checked before anything is read or sent.

        Raises:
            ConfigError: a gate cannot be parsed.
        """
        self.config = config
        self.catalog = catalog
        self.prompt_hashes = dict(prompt_hashes)
        self.calibration = calibration
        self.git: GitState = git_state(ROOT)
        self.gates = parse_gates(config.gates)
        self.rows: dict[str, Row] = {}
        self.judged = 0
        """Cases that the judge is done with, well or badly; grows on the listener's thread."""
        self.stopped_by: EvalError | None = None
        self.untold: EvalError | None = None
        """What kept the run from its end, or its pages from being written, and no test can say."""
        self.on_undelivered: Callable[[EvalError], None] = lambda _: None
        """Told, on the listener's thread, that xdist's workers will hear nothing more."""
        self.info: RunInfo | None = None
        self.summary: RunSummary | None = None
        self._selected: tuple[str, ...] = ()
        self._judge: JudgeProcess | None = None
        self._shared = SharedProvenance()
        self._deliveries: AnswerStore | None = None
        self._running = False
        self._for_workers = False
        self._undeliverable = False
        self._writer: RunWriter | None = None
        self._started_at = datetime.now(UTC)

    def open(self, started: StartedProcess) -> None:
        """Open the judge in its process: its imports overlap with reading and collecting."""
        suites = tuple(suite.path for suite in self.catalog.suites)
        self._judge = JudgeProcess(
            started, Start(self.config, self._context, suites), self._read_row, self._on_row
        )

    def plan(self, node_ids: Sequence[str]) -> list[str]:
        """Return what a run of these items would need, as lines for the terminal; no call is made.

        Raises:
            EvalError: see ``plan_of``.
        """
        cases = [case for node_id in node_ids if (case := self.catalog.case(node_id))]
        prices = load_prices()
        return plan_lines(plan_of(self.config, cases, self._context, prices), self.config, prices)

    def start(self, node_ids: Sequence[str], *, for_workers: bool) -> None:
        """Evaluate the selected items.

        Args:
            node_ids: items after selection, in test order; others than ours are passed over.
            for_workers: put every row into the store too, where xdist's workers wait for it.

        Raises:
            StopRunError: recorded mode lacks answers, or they were exported.
            EvalError: the store, the recordings or the run's folder cannot be opened.
        """
        assert self._judge is not None
        self._judge.wait_opened()
        cases = [(node_id, case) for node_id in node_ids if (case := self.catalog.case(node_id))]
        self._selected = tuple(node_id for node_id, _ in cases)
        self._for_workers = for_workers
        if for_workers or self.config.judge_mode != "recorded":
            self._deliveries = AnswerStore(self.config.store_path)
            self._deliveries.begin_run(self.config.run_id)
        if self.config.judge_mode == "recorded":
            self._judge.submit(self._selected)
            self._judge.wait_all()
            stop_without_answers(self.config, self._judge.missing(), self._rows_so_far())
            self._open_record()
        else:
            self._open_record()  # before the first call: an unwritable folder must cost nothing
            self._judge.submit(self._selected)
        self._running = True
        # Now, while this process waits for rows; in the main thread a Ctrl-C could fall into it.
        threading.Thread(target=load_statistics, name="load-statistics", daemon=True).start()

    def row(self, node_id: str) -> Row:
        """Wait for an item's row; see ``JudgeProcess.delivered``."""
        if node_id in self.rows:  # a plugin that runs an item again finds it as it was
            return self.rows[node_id]
        assert self._judge is not None
        return self._judge.delivered(node_id).row

    def record(self, node_id: str) -> Row | None:
        """Write down a finished item's row, once; None where there is none, or it is written."""
        found = None if self._judge is None else self._judge.finished(node_id)
        if found is None or self._judge is None or node_id in self.rows:
            return None
        self.rows[node_id] = found.row
        self._judge.forget(node_id)
        if self._writer is not None and self.catalog.suite(node_id).recorded:
            self._writer.add_row_json(found.row_json)
        return found.row

    def first_gaps(self) -> dict[str, str]:
        """Return one missing answer a reason, in its own words, in the order of the rows."""
        found: dict[str, str] = {}
        for row in self.rows.values():
            for gap in gaps_of(row):
                found.setdefault(gap.reason, gap.detail)
        return found

    def close(self) -> None:
        """Cancel what is not done, tell xdist's workers that no more rows come, free the store."""
        if self._judge is None or self.closed:
            return
        if self._for_workers and self._deliveries is not None:
            with suppress(StoreError):  # they end with their controller in any case
                self._deliveries.set_state(self.config.run_id, ABORTED, "closed")
        self._judge.close()

    def forget_deliveries(self) -> None:
        """Delete from the store what was there for xdist's workers, once they are gone."""
        if self._deliveries is not None:
            # Where it fails, a later run of the same name clears them.
            with suppress(StoreError), closing(self._deliveries) as store:
                store.clear_results(self.config.run_id)

    def finish(self, *, interrupted: bool) -> None:
        """Write the end of the record: summary, gates, and the calibration stamp if it is due."""
        self.close()
        specimen_rows = [row for row in self.rows.values() if isinstance(row, SpecimenRow)]
        if specimen_rows and not interrupted:
            write_stamp_of(specimen_rows, self.config)
        if self._writer is None:
            return
        self.summary = summarize(self._recorded_rows(), self.config.coverage_policy)
        self.info = self._info(
            ended_at=datetime.now(UTC),
            complete=not interrupted and self.complete,
        )
        self._writer.finish(self.info, self.summary)
        windows = {
            window.window_id: window
            for trace in self.catalog.inputs.traces
            for window in trace.windows
        }
        rows = self._recorded_rows()
        write_cases(self.config.run_dir, self.info, rows_of(ConclusionRow, rows), windows)
        write_windows(self.config.run_dir, self.info, rows, windows)
        write_queue(self.config.run_dir, rows, windows)

    @property
    def closed(self) -> bool:
        """Whether no more rows come."""
        return self._judge is None or self._judge.closed

    @property
    def started(self) -> bool:
        """Whether the items were handed to the judge and it had what it needs."""
        return self._running

    @property
    def selected(self) -> int:
        """Cases that the run is to judge; 0 before it is started."""
        return len(self._selected)

    @property
    def counts(self) -> EngineCounts | None:
        """What the run has cost so far; None before it is started."""
        return None if self._judge is None else self._judge.counts

    @property
    def complete(self) -> bool:
        """Whether every selected item came to a row that was written down."""
        return len(self.rows) == len(self._selected)

    @property
    def leaked(self) -> bool:
        """Whether a blind request held text of its source."""
        return isinstance(self.stopped_by, IsolationError)

    def unjudged_share(self) -> float | None:
        """Return the share of rows that lack an answer, 0 to 1; None without rows.

        The largest of the instruments', so that a few windows do not drown among many conclusions.
        A row with a verdict counts too where a part of it is missing: minimality, an answer to a
        question, topics.
        """
        return largest_share(self.rows.values(), lambda gap: True)  # noqa: ARG005  whatever it is

    @property
    def _context(self) -> RunContext:
        return RunContext(
            run_id=self.config.run_id,
            bench_version=BENCH_VERSION,
            git_commit=self.git.commit,
            git_dirty=self.git.dirty,
            settings=JudgeSettings(
                self.config.judge_model, self.config.reasoning, self.config.judge_repeat
            ),
            over_inference_fails=self.config.over_inference_fails,
        )

    def _read_row(self, node_id: str, row_json: str) -> Row:
        row_type = self.catalog.suite(node_id).row_type
        return self._shared.of(row_type.model_validate_json(row_json, strict=True))

    def _rows_so_far(self) -> dict[str, Row | None]:
        assert self._judge is not None
        found = {node_id: self._judge.finished(node_id) for node_id in self._selected}
        return {key: None if each is None else each.row for key, each in found.items()}

    def _on_row(self, node_id: str, row: Row | EvalError) -> None:
        """Take a row, or the error that a case ended in; called on the listener's thread."""
        self.judged += 1
        if isinstance(row, EvalError) and row.stops_run and self.stopped_by is None:
            self.stopped_by = row
        if self._for_workers and not self._undeliverable:
            assert self._deliveries is not None
            try:
                self._deliveries.put_result(self.config.run_id, node_id, result_text(row))
            except StoreError as error:
                self._undeliverable = True  # a locked store is not waited for again at every row
                self.stopped_by = self.stopped_by or error
                if self.untold is None:
                    self.on_undelivered(self.stopped_by)
                raise

    def _recorded_rows(self) -> list[Row]:
        return [row for row in self.rows.values() if not isinstance(row, SpecimenRow)]

    def _recorded_selected(self) -> int:
        return sum(self.catalog.suite(node_id).recorded for node_id in self._selected)

    def _open_record(self) -> None:
        if not self._recorded_selected():
            return
        self._writer = RunWriter(self.config.run_dir)
        self._writer.start(self._info(ended_at=None, complete=False))
        for trace in self.catalog.inputs.traces:
            for window in trace.windows:
                self._writer.add_window(window)

    def _info(self, *, ended_at: datetime | None, complete: bool) -> RunInfo:
        traces = self.catalog.inputs.traces
        served = {call.model_served for row in self._recorded_rows() for call in row.calls}
        calibration = after_run(self.calibration, served)
        counts = self.counts
        return RunInfo(
            run_id=self.config.run_id,
            started_at=self._started_at,
            ended_at=ended_at,
            complete=complete,
            bench_version=BENCH_VERSION,
            git_commit=self.git.commit,
            git_dirty=self.git.dirty,
            judge_mode=self.config.judge_mode,
            judge_mode_why=self.config.judge_mode_why,
            judge_model=self.config.judge_model,
            models_served=tuple(sorted(served)),
            judge_repeat=self.config.judge_repeat,
            reasoning=self.config.reasoning,
            prompt_hashes=self.prompt_hashes,
            over_inference_fails=self.config.over_inference_fails,
            coverage_policy=self.config.coverage_policy,
            allow_unjudged=self.config.allow_unjudged,
            skip_bad_records=self.config.skip_bad_records,
            calibrated=calibration.calibrated,
            calibration_why=calibration.why,
            trace_paths=tuple(str(path) for path in self.config.trace_paths),
            imports=tuple(trace.import_report for trace in traces),
            collected=sum(self.catalog.suite(i).recorded for i in self.catalog.node_ids),
            selected=self._recorded_selected(),
            calls_sent=0 if counts is None else counts.calls,
            http_attempts=0 if counts is None else counts.attempts,
            **bought_fields(
                None if counts is None or ended_at is None else counts.spending,
                self.config.limits,
                is_exact=self._judge is None or self._judge.has_told_all,
            ),
            gate_expressions=self.config.gates,
            gates=() if self.summary is None else check_gates(self.gates, self.summary),
        )

"""One run: from the selected items to the record on disk. Knows nothing of pytest's hooks."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from calibration.gallery import SpecimenRow
from calibration.stamp import write_stamp_of
from evals import BENCH_VERSION
from evals.config import ROOT, RunConfig
from evals.errors import IsolationError, WrongModelError
from evals.judging.case import Row, RunContext
from evals.judging.engine import open_engine
from evals.judging.gaps import gaps_of
from evals.judging.request import JudgeSettings
from evals.judging.store import AnswerStore
from evals.plugin.catalog import Catalog
from evals.plugin.pool import Pool
from evals.plugin.preflight import largest_share, stop_without_answers
from evals.plugin.worker import ABORTED, row_message
from evals.premise.row import ConclusionRow
from evals.report.cases import write_cases
from evals.report.queue_file import write_queue
from evals.report.windows import write_windows
from evals.runs.calibration import CalibrationState, after_run
from evals.runs.gates import check_gates, parse_gates
from evals.runs.provenance import GitState, git_state
from evals.runs.record import RunInfo, RunWriter
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
        self.stopped_by: IsolationError | WrongModelError | None = None
        self.info: RunInfo | None = None
        self.summary: RunSummary | None = None
        self._selected: tuple[str, ...] = ()
        self._pool: Pool | None = None
        self._running = False
        self._expected: list[str] = []
        self._for_workers = False
        self._writer: RunWriter | None = None
        self._started_at = datetime.now(UTC)

    def open(self) -> None:
        """Open the judge in the background: its imports overlap with reading and collecting."""
        context = RunContext(
            run_id=self.config.run_id,
            bench_version=BENCH_VERSION,
            git_commit=self.git.commit,
            git_dirty=self.git.dirty,
            settings=JudgeSettings(
                self.config.judge_model, self.config.reasoning, self.config.judge_repeat
            ),
            over_inference_fails=self.config.over_inference_fails,
        )
        self._pool = Pool(
            lambda: open_engine(self.config), context, self.config.max_in_flight, self._on_row
        )

    def start(self, node_ids: Sequence[str], *, for_workers: bool) -> None:
        """Evaluate the selected items.

        Args:
            node_ids: items after selection, in test order; others than ours are passed over.
            for_workers: put every row into the store too, where xdist's workers wait for it.

        Raises:
            StopRunError: recorded mode lacks answers, or they were exported.
            EvalError: the store, the recordings or the run's folder cannot be opened.
        """
        assert self._pool is not None
        assert self._pool.engine is not None  # raises here what opening it raised
        cases = [(node_id, case) for node_id in node_ids if (case := self.catalog.case(node_id))]
        self._selected = tuple(node_id for node_id, _ in cases)
        self._for_workers = for_workers
        if for_workers:  # what a killed run of the same name left is not this run's
            self._pool.engine.store.clear_results(self.config.run_id)
        if self.config.judge_mode == "live":
            self._open_record()  # before the first call: an unwritable folder must cost nothing
            self._pool.submit(cases)
        else:
            self._pool.submit(cases)
            self._pool.wait_all()
            rows = {node_id: self._pool.finished(node_id) for node_id in self._selected}
            stop_without_answers(self.config, self._pool.engine.missing, rows)
            self._open_record()
        self._running = True

    def row(self, node_id: str) -> Row:
        """Wait for an item's row; see ``Pool.row``."""
        if node_id in self.rows:  # a plugin that runs an item again finds it as it was
            return self.rows[node_id]
        assert self._pool is not None
        return self._pool.row(node_id)

    def record(self, node_id: str) -> Row | None:
        """Write down a finished item's row, once; None where there is none, or it is written."""
        row = None if self._pool is None else self._pool.finished(node_id)
        if row is None or self._pool is None or node_id in self.rows:
            return None
        self.rows[node_id] = row
        self._pool.forget(node_id)
        if self._writer is not None and self.catalog.suite(node_id).recorded:
            self._writer.add_row(row)
        return row

    def expect(self, node_id: str) -> None:
        """Remember an item whose test ended before its row was there."""
        self._expected.append(node_id)

    def settle(self) -> None:
        """Wait for the rows that are still expected, and write them down."""
        for node_id in self._expected:
            if self._pool is not None and node_id not in self.rows:
                self._pool.wait(node_id)
                self.record(node_id)

    def first_gaps(self) -> dict[str, str]:
        """Return one missing answer a reason, in its own words, in the order of the rows."""
        found: dict[str, str] = {}
        for row in self.rows.values():
            for gap in gaps_of(row):
                found.setdefault(gap.reason, gap.detail)
        return found

    def close(self) -> None:
        """Cancel what is not done, tell xdist's workers that no more rows come, free the store."""
        if self._pool is None or self._pool.closed:
            return
        if self._for_workers:
            self._pool.engine.store.set_state(self.config.run_id, ABORTED, "closed")
        self._pool.close()

    def forget_deliveries(self) -> None:
        """Delete from the store what was there for xdist's workers, once they are gone."""
        if self._for_workers:
            store = AnswerStore(self.config.store_path)
            store.clear_results(self.config.run_id)
            store.close()

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
    def started(self) -> bool:
        """Whether the items were handed to the judge and it had what it needs."""
        return self._running

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

    def _on_row(self, node_id: str, row: Row | BaseException) -> None:
        """Take a row, or the error that a case ended in; called on the pool's thread."""
        if isinstance(row, IsolationError | WrongModelError) and self.stopped_by is None:
            self.stopped_by = row
        if self._for_workers:
            assert self._pool is not None
            text = row_message(row)
            self._pool.engine.store.put_result(self.config.run_id, node_id, text)

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
        counts = None if self._pool is None else self._pool.engine.counts
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
            gate_expressions=self.config.gates,
            gates=() if self.summary is None else check_gates(self.gates, self.summary),
        )

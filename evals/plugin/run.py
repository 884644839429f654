"""One run: from the selected items to the record on disk. Knows nothing of pytest's hooks."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from calibration.gallery import SpecimenRow
from calibration.stamp import write_stamp_of
from evals import BENCH_VERSION
from evals.config import RunConfig
from evals.defaults import ROOT
from evals.errors import EvalError, IsolationError, StoreError
from evals.judge_process.catalog import Catalog
from evals.judge_process.client import JudgeProcess
from evals.judge_process.process import StartedProcess
from evals.judge_process.wire import Start
from evals.judging.case import Row, RunContext
from evals.judging.engine import EngineCounts
from evals.judging.gist import Gist
from evals.judging.judged import Judged, Outcome
from evals.judging.prices import load_prices
from evals.judging.request import JudgeSettings
from evals.judging.store import AnswerStore
from evals.metrics import load_statistics
from evals.plugin.batch_lines import under_way_lines
from evals.plugin.delivery import ABORTED, result_text
from evals.plugin.plan import plan_lines, plan_of
from evals.plugin.preflight import Shares, stop_without_answers
from evals.premise.row import ConclusionRow
from evals.report.cases import write_cases
from evals.report.queue_file import write_queue
from evals.report.templates import load_templates
from evals.report.windows import write_windows
from evals.runs.bought import bought_fields
from evals.runs.calibration import CalibrationState, after_run
from evals.runs.gates import check_gates, parse_gates
from evals.runs.provenance import GitState, git_state
from evals.runs.record import RunInfo, RunWriter
from evals.runs.stored import rows_of
from evals.runs.summary import RunSummary, summarize

if TYPE_CHECKING:
    from evals.traces import ImportReport


class Ended(NamedTuple):
    """What is kept of an item whose test has ended."""

    outcome: Outcome
    place: int | None
    """Of its row in the record; None where its suite's rows do not go there."""


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
        self.ended: dict[str, Ended] = {}
        """Every item whose test has ended and that came to a row."""
        self.judged = 0
        """Cases that the judge is done with, well or badly; grows on the listener's thread."""
        self.stopped_by: EvalError | None = None
        self.untold: EvalError | None = None
        """What kept the run from its end, or its pages from being written, and no test can say."""
        self.on_undelivered: Callable[[EvalError], None] = lambda _: None
        """Told, on the listener's thread, that xdist's workers will hear nothing more."""
        self.items = 0
        """Tests of the run, others than ours too; 0 before it is started."""
        self.under_way = 0
        """Requests that earlier runs have in Message Batches as this one starts, or is planned."""
        self.info: RunInfo | None = None
        self.summary: RunSummary | None = None
        self._selected: tuple[str, ...] = ()
        self._judge: JudgeProcess | None = None
        self._specimens: dict[str, SpecimenRow] = {}
        self._imports: tuple[ImportReport, ...] = ()
        self._served: set[str] = set()
        self._first_gaps: dict[str, str] = {}
        self._lacking = Shares()
        self._deliveries: AnswerStore | None = None
        self._running = False
        self._for_workers = False
        self._undeliverable = False
        self._writer: RunWriter | None = None
        self._started_at = datetime.now(UTC)

    def open(self, started: StartedProcess) -> None:
        """Open the judge in its process: its imports overlap with reading and collecting."""
        suites = tuple(suite.path for suite in self.catalog.suites)
        self._judge = JudgeProcess(started, Start(self.config, self._context, suites), self._on_row)

    def plan(self, node_ids: Sequence[str]) -> list[str]:
        """Return what a run of these items would need, as lines for the terminal; no call is made.

        Raises:
            EvalError: see ``plan_of``.
        """
        cases = [case for node_id in node_ids if (case := self.catalog.case(node_id))]
        prices = load_prices()
        lines = plan_lines(plan_of(self.config, cases, self._context, prices), self.config, prices)
        if self.config.store_path.exists():
            with closing(AnswerStore(self.config.store_path)) as store:
                self.under_way = store.requests_under_way()
        return [*lines, *self.under_way_lines]

    @property
    def under_way_lines(self) -> list[str]:
        """What is to be known before it starts of batches that earlier runs have left."""
        return under_way_lines(self.under_way, self.config.judge_mode, plan=self.config.plan)

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
        self.items = len(node_ids)
        self._selected = tuple(filter(self.catalog.knows, node_ids))
        self._for_workers = for_workers
        if for_workers or self.config.judge_mode != "recorded":
            self._deliveries = AnswerStore(self.config.store_path)
            self._deliveries.begin_run(self.config.run_id)
            self.under_way = self._deliveries.requests_under_way()
        if self.config.judge_mode == "recorded":
            self._judge.submit(self._selected)
            self._judge.wait_all()
            stop_without_answers(self.config, self._judge.missing(), self._gists_so_far())
            self._open_record()
        else:
            self._open_record()  # before the first call: an unwritable folder must cost nothing
            self._judge.submit(self._selected)
        self.catalog.let_go()  # the judge has them in its process
        self._running = True
        # Now, while this process waits for rows; in the main thread a Ctrl-C could fall into it.
        threading.Thread(target=_load_for_the_end, name="load-for-the-end", daemon=True).start()

    def wait_for(self, node_id: str) -> Judged:
        """Wait for what an item's case came to; see ``JudgeProcess.delivered``."""
        if node_id in self.ended:  # a plugin that runs an item again finds it as it was
            return self.ended_row(node_id).judged
        assert self._judge is not None
        return self._judge.delivered(node_id).judged

    def ended_row(self, node_id: str) -> Row:
        """Return the row of an item that has ended, read back from the record.

        Raises:
            RunError: the record is not any more what it was.
        """
        place = self.ended[node_id].place
        if place is None:
            return self._specimens[node_id]
        assert self._writer is not None  # it has given the place
        return self._writer.rows[place]

    def record(self, node_id: str) -> None:
        """Write down a finished item's row, once; nothing where there is none, or it is written."""
        gist = None if self._judge is None else self._judge.finished(node_id)
        if gist is None or self._judge is None or node_id in self.ended:
            return
        row_json, place = self._judge.row_json(node_id), None
        suite = self.catalog.suite(node_id)
        if not suite.recorded:
            self._specimens[node_id] = SpecimenRow.model_validate_json(row_json, strict=True)
        elif self._writer is not None:
            instrument = gist.judged.instrument
            place = self._writer.add_row_json(row_json, instrument, gist.window_id)
            self._served.update(gist.models_served)
        self._judge.forget(node_id)
        self.ended[node_id] = Ended(gist.judged.outcome, place)
        self._lacking.add(gist, lacks=bool(gist.gaps))
        for gap in gist.gaps:
            self._first_gaps.setdefault(gap.reason, gap.detail)

    def first_gaps(self) -> dict[str, str]:
        """Return one missing answer a reason, in its own words, in the order of the rows."""
        return self._first_gaps

    def close(self, *, at_once: bool = False) -> None:
        """Cancel what is not done, tell xdist's workers that no more rows come, free the store.

        Args:
            at_once: whether somebody waits for the end; see ``JudgeProcess.close``.
        """
        if self._judge is None or self.closed:
            return
        if self._for_workers and self._deliveries is not None:
            with suppress(StoreError):  # they end with their controller in any case
                self._deliveries.set_state(self.config.run_id, ABORTED, "closed")
        self._judge.close(at_once=at_once)

    def hurry(self) -> None:
        """Wait no longer for the judge; for a signal's handler."""
        if self._judge is not None:
            self._judge.kill()

    def check_store(self) -> None:
        """Check that what was paid for is still there, where nothing else has stopped the run.

        Raises:
            StoreError: the store was deleted, replaced or cut off.
        """
        if self._deliveries is not None and self.stopped_by is None:
            self._deliveries.check()

    def forget_deliveries(self) -> None:
        """Delete from the store what was there for xdist's workers, once they are gone."""
        if self._deliveries is not None:
            # Where it fails, a later run of the same name clears them.
            with suppress(StoreError), closing(self._deliveries) as store:
                store.clear_results(self.config.run_id)

    def finish(self, *, interrupted: bool) -> None:
        """Write the end of the record: summary, gates, and the calibration stamp if it is due."""
        self.close()
        if self._specimens and not interrupted:
            write_stamp_of(list(self._specimens.values()), self.config)
        if self._writer is None:
            return
        rows, windows = self._writer.rows, self._writer.windows
        self.summary = summarize(rows, self.config.coverage_policy)
        self.info = self._info(
            ended_at=datetime.now(UTC),
            complete=not interrupted and self.complete,
        )
        self._writer.finish(self.info, self.summary)
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
        return len(self.ended) == len(self._selected)

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
        return self._lacking.largest

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

    def _gists_so_far(self) -> list[Gist | None]:
        assert self._judge is not None
        return [self._judge.finished(node_id) for node_id in self._selected]

    def _on_row(self, node_id: str, row: Gist | EvalError) -> None:
        """Take a row, or the error that a case ended in; called on the listener's thread."""
        self.judged += 1
        if isinstance(row, EvalError) and row.stops_run and self.stopped_by is None:
            self.stopped_by = row
        if self._for_workers and not self._undeliverable:
            assert self._deliveries is not None
            try:
                told = row.judged if isinstance(row, Gist) else row
                self._deliveries.put_result(self.config.run_id, node_id, result_text(told))
            except StoreError as error:
                self._undeliverable = True  # a locked store is not waited for again at every row
                self.stopped_by = self.stopped_by or error
                if self.untold is None:
                    self.on_undelivered(self.stopped_by)
                raise

    def _recorded_selected(self) -> int:
        return sum(self.catalog.suite(node_id).recorded for node_id in self._selected)

    def _open_record(self) -> None:
        if not self._recorded_selected():
            return
        self._writer = RunWriter(self.config.run_dir)
        self._imports = tuple(trace.import_report for trace in self.catalog.inputs.traces)
        self._writer.start(self._info(ended_at=None, complete=False))
        for trace in self.catalog.inputs.traces:
            for window in trace.windows:
                self._writer.add_window(window)

    def _info(self, *, ended_at: datetime | None, complete: bool) -> RunInfo:
        calibration = after_run(self.calibration, self._served)
        counts = None if ended_at is None else self.counts
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
            models_served=tuple(sorted(self._served)),
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
            imports=self._imports,
            collected=sum(self.catalog.suite(i).recorded for i in self.catalog.node_ids),
            selected=self._recorded_selected(),
            calls_sent=None if counts is None else counts.calls,
            calls_sent_again=None if counts is None else counts.retries,
            http_attempts=None if counts is None else counts.attempts,
            **bought_fields(
                None if counts is None else counts.spending,
                self.config.limits,
                is_exact=self._judge is None or self._judge.has_told_all,
            ),
            gate_expressions=self.config.gates,
            gates=() if self.summary is None else check_gates(self.gates, self.summary),
        )


def _load_for_the_end() -> None:
    load_statistics()
    load_templates()

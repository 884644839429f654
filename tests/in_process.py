"""What a run judges, without its processes: the same catalog, pool, judge and server, in the test's
own process.

A run under pytest starts two interpreters; a fact of calls, rows or figures needs neither.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from evals import BENCH_VERSION
from evals.config import NO_LIMITS, RunConfig
from evals.defaults import DEFAULT_JUDGE_MODEL, RECORDINGS_DIR
from evals.judge_process.catalog import Catalog
from evals.judge_process.evaluations import COVERAGE, PREMISE, SET_LEVEL
from evals.judge_process.pool import Pool
from evals.judge_process.suites import suites_at
from evals.judging.case import Row, RunContext
from evals.judging.engine import EngineCounts
from evals.judging.gaps import gaps_of
from evals.judging.opening import open_engine
from evals.judging.request import JudgeSettings
from evals.policy import DEFAULT_POLICY
from evals.runs.summary import summarize
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import KEY

ALL = (PREMISE, SET_LEVEL, COVERAGE)
_PATIENCE_S = 120


@dataclass(frozen=True)
class JudgedTrace:
    """What became of every case of a trace."""

    row_records: tuple[Row, ...]
    errors: Mapping[str, BaseException]
    """By node id: cases that came to no row."""
    counts: EngineCounts

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as ``rows.jsonl`` has them, in the order of the items."""
        return [json.loads(row.model_dump_json()) for row in self.row_records]

    @property
    def summary(self) -> dict[str, Any]:
        """The figures as ``summary.json`` has them."""
        found: dict[str, Any] = json.loads(summarize(self.row_records).model_dump_json())
        return found

    @property
    def lacks_answers(self) -> bool:
        """Whether a run would exit 1 for it."""
        return any(True for row in self.row_records for _ in gaps_of(row))


def judge_trace(
    store: Path, trace: Path, api: MessagesApi, *suites: str, **changed: Any
) -> JudgedTrace:
    """Judge every case of ``trace`` live, answers kept in ``store``.

    Args:
        store: file of answers.
        trace: see ``write_trace``.
        api: the server to ask.
        suites: evaluation files; none: the premise judge's.
        changed: fields of the run's configuration that are not as a run has them by default.
    """
    config = _config(store, trace, api, **changed)
    catalog = Catalog(config, suites_at(suites or (PREMISE,)))
    catalog.load()
    cases = [(key, case) for key in catalog.node_ids if (case := catalog.case(key)) is not None]
    ended: dict[str, Row | BaseException] = {}
    all_ended = threading.Event()

    def on_row(key: str, row: Row | BaseException) -> None:
        ended[key] = row
        if len(ended) == len(cases):
            all_ended.set()

    pool = Pool(lambda: open_engine(config), _context(config), config.max_in_flight, on_row)
    try:
        engine = pool.engine
        pool.submit(cases)
        assert all_ended.wait(_PATIENCE_S), f"{len(ended)} of {len(cases)} cases have ended"
    finally:
        pool.close()
    in_order = {key: ended[key] for key, _ in cases}
    return JudgedTrace(
        tuple(row for row in in_order.values() if isinstance(row, Row)),
        {key: row for key, row in in_order.items() if not isinstance(row, Row)},
        engine.counts,
    )


def _context(config: RunConfig) -> RunContext:
    return RunContext(
        run_id=config.run_id,
        bench_version=BENCH_VERSION,
        git_commit=None,
        git_dirty=None,
        settings=JudgeSettings(config.judge_model, config.reasoning, config.judge_repeat),
        over_inference_fails=config.over_inference_fails,
    )


def _config(store: Path, trace: Path, api: MessagesApi, **changed: Any) -> RunConfig:
    fields: dict[str, Any] = {
        "trace_paths": (trace,),
        "trace_format": None,
        "skip_bad_records": False,
        "dataset_shape": None,
        "judge_mode": "live",
        "judge_mode_why": "a test",
        "judge_model": DEFAULT_JUDGE_MODEL,
        "reasoning": "off",
        "judge_repeat": 0,
        "max_in_flight": 64,
        "call_timeout_s": 120.0,
        "max_attempts": 8,
        "batch_poll_s": 0.05,
        "limits": NO_LIMITS,
        "plan": False,
        "base_url": api.url,
        "api_key": SecretStr(KEY),
        "store_path": store,
        "recordings_dir": RECORDINGS_DIR,
        "run_id": "run-1",
        "reports_dir": store.parent / "reports",
        "allow_unjudged": 0.0,
        "gates": (),
        "require_calibration": False,
        "over_inference_fails": True,
        "coverage_policy": DEFAULT_POLICY,
        "export_dir": None,
        "gallery_path": store.parent / "gallery.yaml",
    }
    return RunConfig(**fields | changed)

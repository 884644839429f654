"""A run drops each row once it is written down, and finds it again where it is asked for."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.config import NO_LIMITS, RunConfig
from evals.defaults import RECORDED_JUDGE_MODEL, RECORDINGS_DIR, SAMPLE_TRACE
from evals.judge_process.catalog import Catalog
from evals.judge_process.evaluations import COVERAGE, PREMISE, SET_LEVEL
from evals.judge_process.process import start_process
from evals.judge_process.suites import suites_at
from evals.judging.case import Row
from evals.judging.gaps import gaps_of
from evals.plugin.run import EvalRun
from evals.policy import DEFAULT_POLICY
from evals.records import Window
from evals.runs.calibration import CalibrationState
from evals.runs.load import load_run
from evals.runs.summary import summarize


@pytest.fixture
def run(tmp_path: Path) -> Iterator[EvalRun]:
    """A run of the sample by every instrument, with recorded answers, all of them in."""
    config = RunConfig(
        trace_paths=(SAMPLE_TRACE,),
        trace_format=None,
        skip_bad_records=False,
        dataset_shape=None,
        judge_mode="recorded",
        judge_mode_why="a test",
        judge_model=RECORDED_JUDGE_MODEL,
        reasoning="off",
        judge_repeat=0,
        max_in_flight=4,
        call_timeout_s=60.0,
        max_attempts=1,
        batch_poll_s=1.0,
        limits=NO_LIMITS,
        plan=False,
        base_url=None,
        api_key=None,
        store_path=tmp_path / "answers.sqlite",
        recordings_dir=RECORDINGS_DIR,
        run_id="run-1",
        reports_dir=tmp_path / "reports",
        allow_unjudged=0.0,
        gates=(),
        require_calibration=False,
        over_inference_fails=True,
        coverage_policy=DEFAULT_POLICY,
        export_dir=None,
        gallery_path=tmp_path / "gallery.yaml",
    )
    catalog = Catalog(config, suites_at((PREMISE, SET_LEVEL, COVERAGE)))
    catalog.load()
    run = EvalRun(
        config, catalog, {}, CalibrationState(calibrated=False, why="a test", models_served=())
    )
    run.open(start_process(live=False))
    run.start(catalog.node_ids, for_workers=False)
    yield run
    run.close()


def alive(*kinds: type) -> int:
    gc.collect()
    return sum(isinstance(one, kinds) for one in gc.get_objects())


def test_rows_cases_and_windows_are_dropped_and_found_again(run: EvalRun) -> None:
    before = alive(Row, Window)
    waited = {node_id: run.wait_for(node_id) for node_id in run.catalog.node_ids}
    for node_id in waited:
        run.record(node_id)
        run.record(node_id)
    assert alive(Row, Window) == before
    run.finish(interrupted=False)
    assert alive(Row, Window) == before
    assert run.complete
    # As for a plugin that runs an item again.
    assert {node_id: run.wait_for(node_id) for node_id in waited} == waited
    loaded = load_run(run.config.run_dir)
    rows = list(loaded.rows)
    assert alive(Row, Window) == before + len(rows)
    assert [run.ended_row(node_id) for node_id in waited] == rows
    assert run.summary == loaded.summary == summarize(rows)
    assert run.info is not None
    assert run.info.models_served == tuple({c.model_served for r in rows for c in r.calls})
    assert run.first_gaps() == {gap.reason: gap.detail for r in rows for gap in gaps_of(r)}

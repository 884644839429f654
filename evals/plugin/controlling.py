"""Makes the hooks of the process that runs the evaluations. No xdist worker imports this."""

from collections.abc import Sequence

import pytest

from calibration.gallery import SHIPPED_GALLERY, gallery_hash
from evals.config import RunConfig
from evals.coverage.prompts import load_coverage_prompts
from evals.judge_process.catalog import Catalog
from evals.judge_process.process import StartedProcess
from evals.judge_process.suites import suites_at
from evals.plugin.controller import Controller
from evals.plugin.html import HtmlPage
from evals.plugin.privacy import keep_private
from evals.plugin.progress_hooks import ProgressHooks
from evals.plugin.run import EvalRun
from evals.plugin.settings import config_from
from evals.plugin.signals import Signals
from evals.premise.render import load_premise_prompts
from evals.runs.calibration import calibration_state
from evals.set_level.render import load_set_level_prompts


def install_controller(
    config: pytest.Config,
    suite_paths: Sequence[str],
    started: StartedProcess | None,
    signals: Signals,
) -> Controller:
    """Register every hook of a run; return those that tests ask.

    Args:
        config: pytest's, after parsing.
        suite_paths: evaluation files that will be collected.
        started: who judges; None where nothing is to be judged.
        signals: what the run ends by before its time.

    Raises:
        EvalError: an option is wrong, or a prompt or the gallery cannot be read.
    """
    suites = suites_at(suite_paths)
    run_config = config_from(config)
    run = _run(run_config, Catalog(run_config, suites))
    controller = Controller(run, config, signals)
    if any(suite.recorded for suite in suites) and not run_config.plan:
        keep_private(config)
        HtmlPage.install(config, run)
    for hooks in (ProgressHooks(run, config), controller.workers, controller):
        config.pluginmanager.register(hooks)
    if started is not None:
        run.open(started)
    return controller


def _run(config: RunConfig, catalog: Catalog) -> EvalRun:
    hashes = {
        **load_premise_prompts().hashes(),
        **load_set_level_prompts().hashes(),
        **load_coverage_prompts().hashes(),
    }
    state = calibration_state(
        judge_model=config.judge_model,
        reasoning=config.reasoning,
        prompt_hashes=hashes,
        gallery_hash=gallery_hash(SHIPPED_GALLERY),
    )
    return EvalRun(config, catalog, hashes, state)

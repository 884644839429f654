"""Decides at configuration time what this process has to do with evaluations, if anything."""

from itertools import pairwise
from pathlib import Path

import pytest

from calibration.gallery import SHIPPED_GALLERY, gallery_hash
from evals.config import ROOT, RunConfig
from evals.coverage.prompts import load_coverage_prompts
from evals.errors import EvalError
from evals.plugin.catalog import Catalog, suites_in
from evals.plugin.controller import Controller
from evals.plugin.html import HtmlPage
from evals.plugin.run import EvalRun
from evals.plugin.settings import config_from
from evals.plugin.worker import Worker
from evals.premise.render import load_premise_prompts
from evals.runs.calibration import calibration_state
from evals.set_level.render import load_set_level_prompts

SESSION: pytest.StashKey[Controller | Worker] = pytest.StashKey()
RUN_ID_KEY = "eval_run_id"


def install(config: pytest.Config) -> None:
    """Register the hooks of an evaluation run, if the paths given hold one.

    Raises:
        pytest.UsageError: an option is wrong, or a prompt or the gallery cannot be read.
    """
    suites = suites_in(_paths(config))
    if not suites:
        return
    _read_trace_as_traces(config)
    if config.rootpath.resolve() != ROOT.resolve():
        raise pytest.UsageError(
            f"--rootdir: found {config.rootpath}; wanted the checkout, {ROOT}. Items are known by"
            " their path from there: drop --rootdir and -c."
        )
    workerinput = getattr(config, "workerinput", None)
    try:
        run_config = config_from(config, None if workerinput is None else workerinput[RUN_ID_KEY])
        catalog = Catalog(run_config, suites)
        if workerinput is not None:
            session: Controller | Worker = Worker(run_config, catalog)
        else:
            run = _run(run_config, catalog)
            session = Controller(run, config)
            if any(suite.recorded for suite in suites):
                HtmlPage.install(config, run)
    except EvalError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[SESSION] = session
    config.pluginmanager.register(session)


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


def _read_trace_as_traces(config: pytest.Config) -> None:
    """Read ``--trace PATH`` as ``--traces PATH``.

    ``--trace`` is pytest's own flag (break into the debugger at every test) and takes no value, so
    a path after it would be collected as a test. In an evaluation run a path that is no evaluation
    can only mean a trace; without one the flag stays what it is.
    """
    tokens = config.invocation_params.args
    for flag, value in pairwise(str(token) for token in tokens):
        if flag != "--trace" or value.startswith("-") or value not in config.args:
            continue
        path = config.invocation_params.dir / value
        if path.suffix != ".py" and "::" not in value and not suites_in([path]):
            config.args.remove(value)
            config.option.eval_traces = [*(config.option.eval_traces or ()), path]
            config.option.trace = False


def _paths(config: pytest.Config) -> list[Path]:
    # ``evals/premise/test_premise.py::test_conclusion[x]``: what stands before ``::`` is the path.
    base = config.invocation_params.dir
    return [base / argument.split("::", 1)[0] for argument in config.args]

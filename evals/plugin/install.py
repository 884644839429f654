"""Decides at configuration time what this process has to do with evaluations, if anything."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pytest

from evals.defaults import ROOT
from evals.environment import api_key_text
from evals.errors import EvalError
from evals.judge_process.evaluations import suite_paths_in
from evals.judge_process.process import StartedProcess, start_process
from evals.judging.judged import Judged
from evals.plugin.delivery import WORKER_INPUT
from evals.plugin.items import collects, may_judge, only_plan_setup
from evals.plugin.signals import Signals


class Session(Protocol):
    """What the tests ask: a ``Controller``, or a ``Worker``."""

    def judged(self, node_id: str, session: pytest.Session) -> Judged:
        """Wait for what an item's case came to; an error fails or skips the item."""
        ...


SESSION: pytest.StashKey[Session] = pytest.StashKey()


def install(config: pytest.Config) -> None:
    """Register the hooks of an evaluation run, if the paths given hold one.

    Raises:
        pytest.UsageError: an option is wrong, or a prompt or the gallery cannot be read.
    """
    suite_paths = suite_paths_in(_paths(config)) if collects(config) else ()
    if not suite_paths:
        return
    only_plan_setup(config)
    _read_trace_as_traces(config)
    _remember_no_ids(config)
    if config.rootpath.resolve() != ROOT.resolve():
        raise pytest.UsageError(
            f"--rootdir: found {config.rootpath}; wanted the checkout, {ROOT}. Items are known by"
            " their path from there: drop --rootdir and -c."
        )
    workerinput = getattr(config, "workerinput", None)
    if workerinput is not None:
        _install_worker(config, workerinput[WORKER_INPUT])
        return
    signals = Signals(config)
    with ExitStack() as unless_installed:
        started = None
        if may_judge(config) and not config.option.eval_plan:
            # Before anything else: what it has to import takes longer than all that follows.
            started = start_process(live=_is_live(config))
            unless_installed.callback(started.end)
        _install_controller(config, suite_paths, started, signals)
        signals.begin()
        unless_installed.pop_all()


def _install_worker(config: pytest.Config, told: Mapping[str, Any]) -> None:
    # Here, so that a controller has the judge started before it reads what a worker needs.
    from evals.plugin.worker import Worker  # noqa: PLC0415

    worker = Worker(told)
    config.stash[SESSION] = worker
    config.pluginmanager.register(worker)


def _install_controller(
    config: pytest.Config,
    suite_paths: Sequence[str],
    started: StartedProcess | None,
    signals: Signals,
) -> None:
    # Here, so that a worker does not wait for the instruments, the report and what they import.
    from evals.plugin.controlling import install_controller  # noqa: PLC0415

    try:
        config.stash[SESSION] = install_controller(config, suite_paths, started, signals)
    except EvalError as error:
        raise pytest.UsageError(str(error)) from error


def _is_live(config: pytest.Config) -> bool:
    return api_key_text() is not None and config.option.eval_judge != "recorded"


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
        if path.suffix != ".py" and "::" not in value and not suite_paths_in([path]):
            config.args.remove(value)
            config.option.eval_traces = [*(config.option.eval_traces or ()), path]
            config.option.trace = False


def _remember_no_ids(config: pytest.Config) -> None:
    """Keep the ids of the cases out of pytest's cache, unless the run asks what is new in it.

    The part of pytest that ``--nf`` belongs to keeps every id that it has ever met, so that a cache
    would grow with each trace ever judged, and each later run would read it. ``--lf`` and ``--ff``
    are another part, which keeps what failed and nothing else.
    """
    if not config.getoption("newfirst", default=False):
        config.pluginmanager.set_blocked("nfplugin")


def _paths(config: pytest.Config) -> list[Path]:
    # ``evals/premise/test_premise.py::test_conclusion[x]``: what stands before ``::`` is the path.
    base = config.invocation_params.dir
    return [base / argument.split("::", 1)[0] for argument in config.args]

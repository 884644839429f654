"""Which test functions evaluate which cases: the one table that knows every instrument.

A module for each, imported where its evaluation is asked for: a run of one instrument does not wait
for what the others import.
"""

from collections.abc import Iterable
from importlib import import_module

from evals.judge_process.evaluations import COVERAGE, GALLERY, PREMISE, SET_LEVEL
from evals.judge_process.suites.suite import CasesByTest, Suite

__all__ = ["CasesByTest", "Suite", "suites_at"]

_MODULES = {PREMISE: "premise", SET_LEVEL: "set_level", COVERAGE: "coverage", GALLERY: "gallery"}
"""Evaluation file -> the module here that has its ``SUITE``; in the order of a run."""


def suites_at(paths: Iterable[str]) -> tuple[Suite, ...]:
    """Return the suites whose ``path`` is among ``paths``."""
    wanted = set(paths)
    return tuple(_suite_in(module) for path, module in _MODULES.items() if path in wanted)


def _suite_in(module: str) -> Suite:
    suite = import_module(f"{__name__}.{module}").SUITE
    assert isinstance(suite, Suite)
    return suite

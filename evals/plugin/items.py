"""How evaluation files and their items are named, and how a test function comes to its cases."""

from collections.abc import Mapping, Sequence

import pytest

from evals.defaults import ROOT

_NOTHING = pytest.param(
    None, marks=pytest.mark.skip(reason="the traces hold nothing for this evaluation")
)
"""Stands where a test function has no case, so that this is said and not passed over."""


_SHOWS_TESTS = ("collectonly", "setupplan", "setuponly", "showfixtures", "show_fixtures_per_test")
_SHOWS_ITSELF = ("help", "version", "markers", "cacheshow")


def may_judge(config: pytest.Config) -> bool:
    """Tell whether tests are to run, and not only to be shown."""
    return not _any_of(config, _SHOWS_TESTS)


def collects(config: pytest.Config) -> bool:
    """Tell whether there will be tests at all; else pytest only says something of itself."""
    return not _any_of(config, _SHOWS_ITSELF)


def only_plan_setup(config: pytest.Config) -> None:
    """Make ``--setup-only`` the same as ``--setup-plan``: what is judged is a fixture."""
    if config.getoption("setuponly", default=False):
        config.option.setupplan = True


def _any_of(config: pytest.Config, options: tuple[str, ...]) -> bool:
    # A plugin that was left out (-p no:…) has taken its options with it.
    return any(config.getoption(option, default=False) for option in options)


def parametrize(
    metafunc: pytest.Metafunc, case_ids: Mapping[str, Mapping[str, Sequence[str]]]
) -> None:
    """Give an evaluation's test function the ids of its cases.

    Ids alone: a test waits for what its case came to, and pytest keeps parameters to the end.

    Args:
        metafunc: any test function; one that asks for nothing judged is passed over.
        case_ids: evaluation file -> test function -> ids, in order.
    """
    if "judged" not in metafunc.fixturenames:
        return
    path = metafunc.definition.path.resolve()
    for suite_path, ids_by_test in case_ids.items():
        if (ROOT / suite_path).resolve() == path:
            ids = ids_by_test[metafunc.function.__name__]
            metafunc.parametrize("case", ids or [_NOTHING], ids=ids or ["nothing"])

"""How evaluation files and their items are named, and how a test function comes to its cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from evals.config import ROOT

_NOTHING = pytest.param(
    None, marks=pytest.mark.skip(reason="the traces hold nothing for this evaluation")
)
"""Stands where a test function has no case, so that this is said and not passed over."""


@dataclass(frozen=True, eq=False)
class NamedCase:
    """A case of which an xdist worker knows the id alone."""

    case_id: str


def may_judge(config: pytest.Config) -> bool:
    """Tell whether tests are to run, and not only to be shown."""
    option = config.option
    return not (option.collectonly or option.setupplan or option.showfixtures)


def parametrize(
    metafunc: pytest.Metafunc, cases: Mapping[str, Mapping[str, Sequence[Any]]]
) -> None:
    """Give an evaluation's test function its cases.

    Args:
        metafunc: any test function; one that asks for nothing judged is passed over.
        cases: evaluation file -> test function -> cases, each with its ``case_id``.
    """
    if "judged" not in metafunc.fixturenames:
        return
    path = metafunc.definition.path.resolve()
    for suite_path, cases_by_test in cases.items():
        if (ROOT / suite_path).resolve() == path:
            own = cases_by_test[metafunc.function.__name__]
            ids = [case.case_id for case in own]
            metafunc.parametrize("case", own or [_NOTHING], ids=ids or ["nothing"])

"""Every reason for which an item can have no verdict is one that the project really gives."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from evals import errors
from evals.errors import JudgeError, UnjudgedReason

EVALS = Path(errors.__file__).parent
KINDS = [kind for kind in JudgeError.__subclasses__() if kind.__module__ == errors.__name__]


def made_in(path: Path) -> Iterator[str]:
    """Yield the names that are called, and those that a condition chooses between."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            found = [node.func]
        elif isinstance(node, ast.IfExp):
            found = [node.body, node.orelse]
        else:
            continue
        yield from (each.id for each in found if isinstance(each, ast.Name))


@pytest.fixture(scope="module")
def made() -> set[str]:
    return {name for path in EVALS.rglob("*.py") for name in made_in(path)}


def test_reasons_and_errors_are_the_same_set() -> None:
    assert sorted(kind.reason for kind in KINDS) == sorted(get_args(UnjudgedReason))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_reason_is_given_somewhere(kind: type[JudgeError], made: set[str]) -> None:
    assert kind.__name__ in made


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_tree_that_opens_the_module_names_each_with_its_reason(kind: type[JudgeError]) -> None:
    lines = [line.split()[-2:] for line in (errors.__doc__ or "").splitlines()]
    assert [kind.__name__, kind.reason] in lines

"""The pytest plugin: options, and one object of hooks where evaluations are asked for.

``pytest`` alone runs ``tests/`` and none of this. Where the paths given hold an evaluation, the
process that runs it gets a ``Controller``, an xdist worker a ``Worker``; all state is theirs.
"""

from collections.abc import Callable

import pytest

from evals.judging.case import Case, Row
from evals.plugin.install import SESSION, install
from evals.plugin.options import add_options
from evals.plugin.outcomes import properties_of


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the evaluations."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks of a run, before pytest-html looks where its page goes."""
    install(config)


@pytest.fixture
def judged(case: Case, request: pytest.FixtureRequest) -> Row:
    """The row of this item's case, once the background pool has it."""
    row = request.config.stash[SESSION].row(request.node.nodeid, request.session)
    assert row.case_id == case.case_id, f"row of {row.case_id} came back for {case.case_id}"
    return row


@pytest.fixture
def record_outcome(request: pytest.FixtureRequest) -> Callable[[Row], None]:
    """Record a row's outcome as this item's, in every reporter."""
    item = request.node

    def record(row: Row) -> None:
        item.user_properties.extend(properties_of(row))

    return record

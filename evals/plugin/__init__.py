"""The pytest plugin: options, and one object of hooks where evaluations are asked for.

``pytest`` alone runs ``tests/`` and none of this. Where the paths given hold an evaluation, the
process that runs it gets a ``Controller``, an xdist worker a ``Worker``; all state is theirs.
"""

from collections.abc import Callable

import pytest

from evals.judging.judged import Judged
from evals.plugin.install import SESSION, install
from evals.plugin.options import add_options
from evals.plugin.properties import properties_of


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the evaluations."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks of a run, before pytest-html looks where its page goes."""
    install(config)


@pytest.fixture
def judged(case: str, request: pytest.FixtureRequest) -> Judged:
    """What this item's case, which is told by its id, came to, once it is judged."""
    found = request.config.stash[SESSION].judged(request.node.nodeid, request.session)
    assert found.case_id == case, f"{found.case_id} came back for {case}"
    return found


@pytest.fixture
def record_outcome(request: pytest.FixtureRequest) -> Callable[[Judged], None]:
    """Record a case's outcome as this item's, in every reporter."""
    item = request.node

    def record(judged: Judged) -> None:
        item.user_properties.extend(properties_of(judged))

    return record

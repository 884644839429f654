"""A pytest plugin that kills xdist workers. ``-p tests.plugin.dying_worker``, and environment:

DYING_WORKERS   ``gw0,gw1``, or ``all``, replacements included
DYING_AT        collection, waiting, setup, call, teardown, end (before xdist hears that it has)
DYING_IN        part of the item's id; empty: the first item
"""

import os
import signal

import pytest

from evals.judging.store.deliveries import Deliveries


class DyingWorker:
    """Hooks that end the process as SIGKILL does: nothing is flushed, said or closed."""

    def __init__(self) -> None:
        self.point = os.environ["DYING_AT"]
        if self.point == "waiting":
            self._die_for_want_of_a_row()

    def pytest_collection_finish(self) -> None:
        self._reach("collection")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._reach("setup", item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._reach("call", item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        self._reach("teardown", item.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._reach("end", nodeid)

    def _die_for_want_of_a_row(self) -> None:
        honest = Deliveries.get_result

        def get_result(store: Deliveries, run_id: str, case_id: str) -> str | None:
            found = honest(store, run_id, case_id)
            if found is None:
                self._reach("waiting", case_id)
            return found

        Deliveries.get_result = get_result  # type: ignore[assignment,method-assign]

    def _reach(self, point: str, node_id: str = "") -> None:
        if point == self.point and (os.environ["DYING_IN"] in node_id or not node_id):
            os.kill(os.getpid(), signal.SIGKILL)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        who = os.environ["DYING_WORKERS"]
        if who == "all" or os.environ["PYTEST_XDIST_WORKER"] in who.split(","):
            config.pluginmanager.register(DyingWorker())

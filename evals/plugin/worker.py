"""An xdist worker: names the same items, and reads what the controller found out.

The controller alone makes calls (design section 5). Results reach the workers through the answer
store, the one channel that loses nothing when a worker dies.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evals.errors import StoreError
from evals.judge_process import collector
from evals.judging.judged import Judged
from evals.judging.store import AnswerStore
from evals.plugin.delivery import ABORTED, Failed, WorkerInput, result_of
from evals.plugin.items import parametrize

_FIRST_POLL_S = 0.005
_LAST_POLL_S = 0.02
"""A look costs 10 microseconds: a worker that waits all the time spends 0.05 % of a core on it."""
_EXIT_ORPHANED = 1


class Worker:
    """The hooks of a worker process."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        """Take ``WorkerInput.as_plain`` of the controller."""
        self._told = WorkerInput(**told)
        self._store: AnswerStore | None = None
        self._controller = os.getppid()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize."""
        parametrize(metafunc, self._told.case_ids)

    def pytest_collection_finish(self) -> None:
        """Let the items be."""
        collector.relax()

    def pytest_unconfigure(self) -> None:
        """Let be what the tests left, which the process is about to drop."""
        collector.relax()  # pytest collects five times over before it ends
        if self._store is not None:
            self._store.close()

    def judged(self, node_id: str, session: pytest.Session) -> Judged:
        """Wait until the controller has this item's row; its error fails the item, untraced."""
        try:
            result = result_of(self._wait_for(node_id))
        except StoreError as error:
            result = Failed(f"{type(error).__name__}: {error}", stops_run=True)
        if isinstance(result, Judged):
            return result
        # Out here, so that it carries no context: pytest would print that beside it, as a second.
        if result.stops_run:
            session.shouldfail = "the run was stopped"
        pytest.fail(result.text, pytrace=False)

    def _wait_for(self, node_id: str) -> str:
        if self._store is None:
            self._store = AnswerStore(Path(self._told.store_path))
        delay_s = _FIRST_POLL_S
        while True:
            text = self._store.get_result(self._told.run_id, node_id)
            if text is not None:
                return text
            if self._store.get_state(self._told.run_id, ABORTED) is not None:
                pytest.skip("the run was stopped before this item was judged")
            if os.getppid() != self._controller:
                # Killed: nobody writes rows any more, and nobody reads what this process says.
                pytest.exit("the controller of the run is gone", returncode=_EXIT_ORPHANED)
            time.sleep(delay_s)
            delay_s = min(delay_s * 1.5, _LAST_POLL_S)

"""An xdist worker: collects the same items, and reads what the controller found out.

The controller alone makes calls (design section 5). Rows reach the workers through the answer
store, the one channel that loses nothing when a worker dies.
"""

import json
import time
from typing import NoReturn

import pytest

from evals.config import RunConfig
from evals.errors import EvalError, IsolationError, WrongModelError
from evals.judging.case import Row
from evals.judging.store import AnswerStore
from evals.plugin.catalog import Catalog

ABORTED = "aborted"
"""Run-state flag: the controller will send no more rows."""

_FIRST_POLL_S = 0.005
_LAST_POLL_S = 0.05


def row_message(row: Row | BaseException) -> str:
    """Return what the controller writes for one case: its row, or the error that it ended in."""
    if isinstance(row, Row):
        return json.dumps({"row": row.model_dump_json()})
    stops = isinstance(row, IsolationError | WrongModelError)
    return json.dumps({"error": f"{type(row).__name__}: {row}", "stops": stops})


class Worker:
    """The hooks of a worker process."""

    def __init__(self, config: RunConfig, catalog: Catalog) -> None:
        """Open the store that the controller writes to."""
        self._run_id = config.run_id
        self._catalog = catalog
        self._store_path = config.store_path
        self._store: AnswerStore | None = None

    def pytest_sessionstart(self) -> None:
        """Read the inputs."""
        try:
            self._catalog.load()
        except EvalError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize."""
        self._catalog.parametrize(metafunc)

    def row(self, node_id: str, session: pytest.Session) -> Row:
        """Wait until the controller has this item's row; its error fails the item, untraced."""
        if self._store is None:
            self._store = AnswerStore(self._store_path)
        delay_s = _FIRST_POLL_S
        while True:
            text = self._store.get_result(self._run_id, node_id)
            if text is not None:
                return self._parse(node_id, text, session)
            if self._store.get_state(self._run_id, ABORTED) is not None:
                self._give_up()
            time.sleep(delay_s)
            delay_s = min(delay_s * 1.5, _LAST_POLL_S)

    def _parse(self, node_id: str, text: str, session: pytest.Session) -> Row:
        message = json.loads(text)
        if "error" in message:
            if message["stops"]:
                session.shouldfail = "the run was stopped"
            pytest.fail(message["error"], pytrace=False)
        return self._catalog.suite(node_id).row_type.model_validate_json(message["row"])

    def _give_up(self) -> NoReturn:
        pytest.skip("the run was stopped before this item was judged")

"""One case, evaluated as far as the answers reach.

Where an answer is not there yet, whoever asked for it is left waiting for ever, and everything that
does not hang on it goes on. So a walk finds every request of a case that can be made with the
answers so far, and none that rests on the lack of one. When nothing of the case moves any more it
is given up; with more answers it is walked again, from the store and without a call.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from evals.judging.case import Case, Row, RunContext
from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse

_QUIET_TURNS = 16
"""Turns of the event loop without a request after which a case does not move any more. From an
answer to the next request it takes two turns for each task group that lies in between, and no
instrument nests more than three. Too few would cost a round more, and nothing else."""


class Walk:
    """Implements ``Judge`` for one case."""

    def __init__(self, find: Callable[[JudgeRequest], JudgeResponse | None]) -> None:
        """Start.

        Args:
            find: returns the answer, or None where it is not there yet.
        """
        self._find = find
        self._asked = 0
        self._first_lack: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Return the answer to ``request``, or never; see ``Judge.ask``."""
        self._asked += 1
        found = self._find(request)
        if found is not None:
            return found
        if not self._first_lack.done():
            self._first_lack.set_result(None)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody answers a walk")

    async def evaluate(self, case: Case, context: RunContext) -> Row | None:
        """Return the row of ``case``, or None where it lacks an answer.

        Raises:
            EvalError: see ``Case.evaluate``.
        """
        task = asyncio.create_task(case.evaluate(self, context))
        try:
            either: set[asyncio.Future[Any]] = {task, self._first_lack}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            quiet_turns, asked = 0, self._asked
            while not task.done() and quiet_turns < _QUIET_TURNS:
                await asyncio.sleep(0)
                quiet_turns = quiet_turns + 1 if asked == self._asked else 0
                asked = self._asked
            return task.result() if task.done() else None
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

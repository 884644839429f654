"""The background loop: evaluates cases side by side.

One daemon thread with one event loop. Workers take the cases in item order and carry each one
through before they take the next (depth-first), so the first test is done after the latency of its
own calls and ``-x`` leaves little unfinished.

A judge can leave cases waiting for a round of answers (``JudgeEngine.walk``). They are put aside,
and when nothing else is left the round is settled and they are taken up again.
"""

import asyncio
import random
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from evals.errors import EvalError
from evals.judging.case import Case, Row, RunContext
from evals.judging.engine import JudgeEngine

if sys.platform == "win32":
    from asyncio import new_event_loop
else:
    from uvloop import new_event_loop  # a tenth of the CPU of a call less

_CLOSE_TIMEOUT_S = 5.0


class Pool:
    """Evaluates submitted cases, and tells what each came to."""

    def __init__(
        self,
        open_judge: Callable[[], JudgeEngine],
        context: RunContext,
        workers: int,
        on_row: Callable[[str, Row | BaseException], None],
    ) -> None:
        """Start the thread.

        Args:
            open_judge: called once on the thread, so that what it imports overlaps with pytest.
            context: what every case of the run shares.
            workers: cases evaluated at once.
            on_row: called on the thread as each case ends, with its key and its row or error; must
                not raise.
        """
        self._open_judge = open_judge
        self._context = context
        self._worker_count = workers
        self._on_row = on_row
        self._queue: deque[tuple[str, Case]] = deque()
        self._apart = False
        """Whether the queue was put into an order of its own; see ``_keep_apart``."""
        self._waiting: list[tuple[str, Case]] = []
        """Walked as far as the answers reach; see ``JudgeEngine.walk``."""
        self._loop = new_event_loop()
        self._started: Future[JudgeEngine] = Future()
        self._workers: set[asyncio.Task[None]] = set()
        self._round: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="judge-pool", daemon=True)
        self._thread.start()

    @property
    def engine(self) -> JudgeEngine:
        """The judge, once it is open; raises what opening it raised."""
        return self._started.result()

    def submit(self, cases: Iterable[tuple[str, Case]]) -> None:
        """Queue cases by key, in order; each key once in a run."""
        self._loop.call_soon_threadsafe(self._enqueue, tuple(cases))

    def close(self) -> None:
        """Cancel what is queued or in flight, close the judge, end the thread."""
        if self._closed:
            return
        self._closed = True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(_CLOSE_TIMEOUT_S)
        if self._thread.is_alive():
            warnings.warn(
                f"judge pool: still busy {_CLOSE_TIMEOUT_S:g} s after it was closed", stacklevel=2
            )

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._started.set_result(self._open_judge())
        except BaseException as error:  # noqa: BLE001  handed to whoever asks for the engine
            self._started.set_exception(error)
            self._loop.close()
            return
        self._loop.run_forever()
        self._loop.close()

    def _enqueue(self, cases: tuple[tuple[str, Case], ...]) -> None:
        self._queue.extend(cases)
        self._start_workers()

    def _start_workers(self) -> None:
        while len(self._workers) < min(self._worker_count, len(self._queue)):
            task = self._loop.create_task(self._work())
            self._workers.add(task)
            task.add_done_callback(self._worker_ended)

    def _worker_ended(self, task: asyncio.Task[None]) -> None:
        self._workers.discard(task)
        idle = not self._workers and self._round is None and self._closing is None
        if idle and self._waiting:
            self._round = self._loop.create_task(self._settle_round())

    async def _settle_round(self) -> None:
        try:
            await self._started.result().settle_round()
        except Exception as error:  # noqa: BLE001  told to whoever waits for the cases
            self._give_up(error)
        else:
            self._queue.extend(self._waiting)
            self._waiting = []
        self._round = None
        self._start_workers()

    async def _work(self) -> None:
        judge = self._started.result()
        while self._queue:
            key, case = self._queue.popleft()
            try:
                row = await judge.walk(case, self._context)
            except Exception as error:  # noqa: BLE001  told to whoever waits for the case
                self._on_row(key, error)
                if isinstance(error, EvalError) and error.stops_run:
                    self._give_up(error)
            else:
                self._keep_apart(judge)
                if row is None:
                    self._waiting.append((key, case))
                else:
                    self._on_row(key, row)

    def _keep_apart(self, judge: JudgeEngine) -> None:
        # Two runs on one store that go the same way side by side would pay for everything twice.
        if judge.has_company and not self._apart:
            self._apart = True
            rest = list(self._queue)
            random.shuffle(rest)
            self._queue = deque(rest)

    def _give_up(self, error: Exception) -> None:
        for key in self._take_queued():
            self._on_row(key, error)

    def _take_queued(self) -> list[str]:
        keys = [key for key, _ in (*self._queue, *self._waiting)]
        self._queue.clear()
        self._waiting.clear()
        return keys

    def _stop(self) -> None:
        self._closing = self._loop.create_task(self._wind_down())

    async def _wind_down(self) -> None:
        self._take_queued()
        ending = [*self._workers, *([] if self._round is None else [self._round])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await self._started.result().aclose()
        self._loop.stop()

"""The background loop: evaluates cases side by side while pytest's tests stay synchronous.

One daemon thread with one event loop. Workers take the cases in item order and carry each one
through before they take the next (depth-first), so the first test is done after the latency of its
own calls and ``-x`` leaves little unfinished. Tests wait for their own case.

A judge can leave cases waiting for a round of answers (``JudgeEngine.walk``). They are put aside,
and when nothing else is left the round is settled and they are taken up again.
"""

import asyncio
import random
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, wait

from evals.errors import EvalError
from evals.judging.case import Case, Row, RunContext
from evals.judging.engine import JudgeEngine

_CLOSE_TIMEOUT_S = 5.0


class Pool:
    """Evaluates submitted cases; ``row`` waits for one."""

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
            on_row: called on the thread as each case ends, with its key and its row or error.
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
        self._futures: dict[str, Future[Row]] = {}
        self._loop = asyncio.new_event_loop()
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

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def submit(self, cases: Iterable[tuple[str, Case]]) -> None:
        """Queue cases by key, in order; a key that is known already is left out."""
        for key, case in cases:
            if key not in self._futures:
                self._futures[key] = Future()
                self._queue.append((key, case))
        self._loop.call_soon_threadsafe(self._start_workers)

    def row(self, key: str) -> Row:
        """Wait for one case's row; may be interrupted by SIGINT.

        Raises:
            EvalError: what stopped the run, in this case or another: a leak, another model than
                the pinned one, a store that cannot be read or written.
            concurrent.futures.CancelledError: the pool was closed first.
        """
        self._started.result()
        return self._futures[key].result()

    def finished(self, key: str) -> Row | None:
        """Return the row of a case that is done without error, or None; does not wait."""
        future = self._futures.get(key)
        if future is None or not future.done() or future.cancelled() or future.exception():
            return None
        return future.result()

    def forget(self, key: str) -> None:
        """Drop a row that has been written down, so that memory does not grow with the run."""
        self._futures.pop(key, None)

    def wait(self, key: str) -> None:
        """Wait until one submitted case has ended, well or badly."""
        future = self._futures.get(key)
        if future is not None:
            wait([future])

    def wait_all(self) -> None:
        """Wait until every submitted case has ended, well or badly."""
        wait(list(self._futures.values()))

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
        except Exception as error:  # noqa: BLE001  raised again in the tests that wait
            self._cancel_queued(error)
        else:
            self._queue.extend(self._waiting)
            self._waiting = []
        self._round = None
        self._start_workers()

    async def _work(self) -> None:
        judge = self._started.result()
        while self._queue:
            key, case = self._queue.popleft()
            future = self._futures[key]
            if not _may_run(future):
                continue
            try:
                row = await judge.walk(case, self._context)
            except asyncio.CancelledError:
                future.set_exception(CancelledError())
                raise
            except Exception as error:  # noqa: BLE001  raised again in the test that waits
                self._fail(key, error)
                if isinstance(error, EvalError) and error.stops_run:
                    self._cancel_queued(error)
            else:
                self._keep_apart(judge)
                if row is None:
                    self._waiting.append((key, case))
                    continue
                # Known here before it is told: whoever hears of it may ask for it at once.
                future.set_result(row)
                self._tell(key, row)

    def _keep_apart(self, judge: JudgeEngine) -> None:
        # Two runs on one store that go the same way side by side would pay for everything twice.
        if judge.has_company and not self._apart:
            self._apart = True
            rest = list(self._queue)
            random.shuffle(rest)
            self._queue = deque(rest)

    def _fail(self, key: str, error: Exception) -> None:
        self._futures[key].set_exception(error)
        self._tell(key, error)

    def _tell(self, key: str, row: Row | Exception) -> None:
        try:
            self._on_row(key, row)
        except EvalError as error:
            # Nothing can be delivered any more, as when the disk is full: the rest is given up.
            self._started.result().stop(error)
            for key_left in self._take_queued():
                self._futures[key_left].set_exception(error)

    def _cancel_queued(self, error: Exception | None = None) -> None:
        for key in self._take_queued():
            future = self._futures[key]
            if error is not None and _may_run(future):
                self._fail(key, error)
            elif not future.cancel() and not future.done():  # it runs: it waits for a round
                future.set_exception(CancelledError())

    def _take_queued(self) -> list[str]:
        keys = [key for key, _ in (*self._queue, *self._waiting)]
        self._queue.clear()
        self._waiting.clear()
        return keys

    def _stop(self) -> None:
        self._closing = self._loop.create_task(self._wind_down())

    async def _wind_down(self) -> None:
        self._cancel_queued()
        ending = [*self._workers, *([] if self._round is None else [self._round])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await self._started.result().aclose()
        self._loop.stop()


def _may_run(future: Future[Row]) -> bool:
    """Mark a case as running; False where it was cancelled."""
    return future.running() or future.set_running_or_notify_cancel()

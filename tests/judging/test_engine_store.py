"""The engine and a store that fails, or that another run writes to at the same time."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evals.errors import StoreError
from evals.judging.calls import LiveCalls
from evals.judging.engine import JudgeEngine
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest
from evals.judging.retry import RetryPolicy
from evals.judging.store import AnswerStore, StoredAnswer
from tests.judging.helpers import MODEL, Clock, ScriptedTransport, message_for, request_for, settle
from tests.judging.test_claims import held_elsewhere

ANSWER = message_for('{"n": 1}')
FIRST, SECOND, THIRD = (request_for(text) for text in ("a", "b", "c"))


class Bench:
    """An engine with one call in flight, whose server answers when the test says so."""

    def __init__(self, folder: Path, *, in_flight: int = 1) -> None:
        self.path = folder / "answers.sqlite"
        self.may_answer = asyncio.Event()
        self.transport = ScriptedTransport(self._answer)
        clock = Clock()
        live = LiveCalls(
            self.transport, RetryPolicy(3, 60), in_flight, sleep=clock.sleep, clock=clock
        )
        store = AnswerStore(self.path, busy_timeout_s=0.01)
        self.engine = JudgeEngine(store, Recordings(folder / "recordings"), live)

    async def _answer(self) -> str:
        await self.may_answer.wait()
        return ANSWER

    @property
    def sent(self) -> int:
        return len(self.transport.sent)

    def begin(self, *requests: JudgeRequest) -> list[asyncio.Task[Any]]:
        return [asyncio.create_task(self.engine.ask(request)) for request in requests]

    def put_from_elsewhere(self, request: JudgeRequest, message: str = ANSWER) -> None:
        with closing(AnswerStore(self.path)) as other:
            other.put(StoredAnswer(request.request_hash, message, MODEL, MODEL, None))


Test = Callable[[Bench], Awaitable[None]]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Test], None]:
    async def whole(test: Test) -> None:
        bench = Bench(tmp_path)
        try:
            await asyncio.wait_for(test(bench), 20)
        finally:
            await bench.engine.aclose()

    return lambda test: asyncio.run(whole(test))


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Holds the store, once it is there, when told to."""
    path = tmp_path / "answers.sqlite"
    AnswerStore(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


def test_an_answer_that_cannot_be_kept_ends_all_sending(
    run: Callable[[Test], None], lock: sqlite3.Connection
) -> None:
    async def test(bench: Bench) -> None:
        tasks = bench.begin(FIRST, SECOND, THIRD)
        await settle()
        assert bench.sent == 1
        lock.execute("BEGIN EXCLUSIVE")
        bench.may_answer.set()
        met = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in met] == [StoreError] * 3
        assert {str(each) for each in met} == {str(met[0])}
        assert bench.sent == 1
        lock.execute("COMMIT")
        with pytest.raises(StoreError, match="locked"):  # it stays stopped
            await bench.engine.ask(THIRD)
        assert bench.sent == 1

    run(test)


def test_a_store_that_cannot_be_read_ends_all_sending(run: Callable[[Test], None]) -> None:
    async def test(bench: Bench) -> None:
        bench.may_answer.set()
        with closing(sqlite3.connect(bench.path)) as db:
            db.execute("ALTER TABLE answers RENAME TO gone")
        for request in (FIRST, SECOND):
            with pytest.raises(StoreError, match="no such table"):
                await bench.engine.ask(request)
        assert bench.sent == 0

    run(test)


def test_what_another_run_has_answered_while_a_call_stood_in_line_is_not_asked_again(
    run: Callable[[Test], None],
) -> None:
    async def test(bench: Bench) -> None:
        first, second = bench.begin(FIRST, SECOND)
        await settle()
        bench.put_from_elsewhere(SECOND, message_for('{"n": 2}'))
        bench.may_answer.set()
        assert (await first).call.source == "live"
        answer = await second
        assert (answer.text, answer.call.source) == ('{"n": 2}', "store")
        assert bench.sent == 1
        assert bench.engine.has_company is False

    run(test)


@pytest.mark.parametrize("text", ['{"n": 1}', '{"n": 2}'])
def test_a_call_that_another_run_made_at_the_same_time_tells_of_its_company(
    run: Callable[[Test], None], text: str
) -> None:
    async def test(bench: Bench) -> None:
        (task,) = bench.begin(FIRST)
        await settle()
        bench.put_from_elsewhere(FIRST, message_for(text))
        assert bench.engine.has_company is False
        bench.may_answer.set()
        answer = await task
        assert answer.text == text  # the first that was stored stands, for both
        assert bench.engine.has_company is True

    run(test)


def test_a_call_that_another_run_is_making_is_waited_for_without_a_place(
    run: Callable[[Test], None],
) -> None:
    async def test(bench: Bench) -> None:
        with held_elsewhere(bench.path, FIRST.request_hash):
            first, second = bench.begin(FIRST, SECOND)
            await settle()
            assert bench.sent == 1, "the only place is taken by what nobody else asks"
            bench.may_answer.set()
            assert (await second).call.source == "live"
            assert not first.done()
            assert bench.engine.has_company is True
            assert bench.engine.counts.spending.answers == 1
            bench.put_from_elsewhere(FIRST, message_for('{"n": 2}'))
        answer = await first
        assert (answer.text, answer.call.source) == ('{"n": 2}', "store")
        assert bench.sent == 1

    run(test)


def test_what_another_run_has_failed_to_ask_is_asked_here(run: Callable[[Test], None]) -> None:
    async def test(bench: Bench) -> None:
        bench.may_answer.set()
        with held_elsewhere(bench.path, FIRST.request_hash):
            (task,) = bench.begin(FIRST)
            await settle()
            assert bench.sent == 0
        assert (await task).call.source == "live"

    run(test)


def test_a_run_that_is_stopped_waits_for_no_other(run: Callable[[Test], None]) -> None:
    async def test(bench: Bench) -> None:
        with held_elsewhere(bench.path, FIRST.request_hash):
            (task,) = bench.begin(FIRST)
            await settle()
            bench.engine.stop(StoreError("here", "a fault", "none", "Mend it."))
            with pytest.raises(StoreError, match="a fault"):
                await task
        assert bench.sent == 0

    run(test)

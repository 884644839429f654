"""An outage of any kind loses no call; a call that fails alone is given up."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest
from pydantic import SecretStr

from evals.errors import CallTimeoutError, ExhaustedError
from evals.judging.calls import LiveCalls, Sent
from evals.judging.live import LiveTransport
from evals.judging.outages import Outages
from evals.judging.retry import RetryPolicy
from evals.judging.transport import AttemptError, Reply
from tests.judging.helpers import Clock, HeldClock, message_for, request_for, settle
from tests.messages_api.faults import fault_of
from tests.messages_api.server import Server

ANSWER = message_for("{}")
STEP_S = 0.5
GONE_AT_S = 0.5
"""By then the first sixteen calls are on their way, and they are answered."""

Failing = Callable[[], AttemptError]


def unreachable() -> AttemptError:
    return AttemptError("no connection (refused)", "retry", unreachable=True)


def broken() -> AttemptError:
    return AttemptError("no connection (closed in the middle)", "retry")


def server_error() -> AttemptError:
    return AttemptError("HTTP 503 (no luck)", "retry", status=503)


def late() -> AttemptError:
    return AttemptError("no whole answer within 120 s", "retry", timed_out=True)


class Line:
    """Live calls of eight attempts over a transport that answers after a second, or fails."""

    server = "https://judge.example"

    def __init__(self, fails: Callable[[float, str], AttemptError | None]) -> None:
        """Fail where ``fails``, told the time in seconds and the body, gives a failure."""
        self.clock = HeldClock()
        self._fails = fails
        self.sent_at_s: list[float] = []
        policy = RetryPolicy(max_attempts=8, attempt_timeout_s=120)
        self.calls = LiveCalls(self, policy, 16, sleep=self.clock.sleep, clock=self.clock)

    async def send(self, body: bytes) -> Reply:
        self.sent_at_s.append(self.clock())
        failure = self._fails(self.clock(), body.decode())
        if failure is not None:
            raise failure
        await self.clock.sleep(1)
        return Reply(ANSWER, {})

    async def aclose(self) -> None: ...

    async def judge(self, *names: str) -> list[Sent | BaseException]:
        """Make these calls at once, and let time pass until each has come to something."""
        tasks = [
            asyncio.create_task(self.calls.call(request_for(name), lambda: None)) for name in names
        ]
        await settle()
        while not all(task.done() for task in tasks):
            await self.clock.pass_to(self.clock() + STEP_S)
        return await asyncio.gather(*tasks, return_exceptions=True)


def run(test: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(test, 60))


def names(number: int) -> list[str]:
    return [f"call {each}" for each in range(number)]


@pytest.mark.parametrize("failing", [unreachable, broken, server_error])
def test_an_outage_of_two_minutes_loses_no_call(failing: Failing) -> None:
    async def test() -> None:
        line = Line(lambda now_s, _: failing() if GONE_AT_S <= now_s < 121 else None)
        results = await line.judge(*names(48))
        assert [each for each in results if not isinstance(each, Sent)] == []
        # What was tried before it was known for an outage, and then one probe at a time.
        probes = [at_s for at_s in line.sent_at_s if 10 <= at_s < 121]
        assert len(probes) < 60
        assert all(later - earlier >= STEP_S for earlier, later in pairwise(probes))
        assert line.clock() < 150

    run(test())


@pytest.mark.parametrize("failing", [unreachable, broken, server_error])
def test_an_outage_without_end_ends_the_run_after_ten_minutes(failing: Failing) -> None:
    async def test() -> None:
        line = Line(lambda now_s, _: failing() if now_s >= GONE_AT_S else None)
        results = await line.judge(*names(40))
        lost = [each for each in results if not isinstance(each, Sent)]
        assert len(lost) == 24
        assert {type(each) for each in lost} == {ExhaustedError}
        assert any("no answer to any call for 60" in str(each) for each in lost)
        assert 600 <= line.clock() <= 625
        sent = len(line.sent_at_s)
        (another,) = await line.judge("another")
        assert "nothing more is sent" in str(another)
        assert len(line.sent_at_s) == sent

    run(test())


@pytest.mark.parametrize("failing", [unreachable, broken, server_error])
def test_where_nothing_was_ever_answered_every_call_has_its_attempts_and_no_more(
    failing: Failing,
) -> None:
    async def test() -> None:
        line = Line(lambda *_: failing())
        results = await line.judge(*names(16))
        assert all("at the last of 8 attempts" in str(each) for each in results)
        assert len(line.sent_at_s) == 8 * 16
        assert line.clock() <= 65

    run(test())


@pytest.mark.parametrize("failing", [broken, server_error])
@pytest.mark.parametrize("alone", [1, 2])
def test_a_call_that_fails_alone_is_given_up_after_its_attempts(
    alone: int, failing: Failing
) -> None:
    async def test() -> None:
        line = Line(lambda _, body: failing() if "unlucky" in body else None)
        results = await line.judge(*names(20), *(f"unlucky {each}" for each in range(alone)))
        assert [type(each) for each in results] == [Sent] * 20 + [ExhaustedError] * alone
        assert all("at the last of 8 attempts" in str(each) for each in results[20:])
        assert line.clock() <= 65

    run(test())


def test_calls_that_fail_while_others_are_answered_are_given_up_too() -> None:
    async def test() -> None:
        line = Line(lambda _, body: server_error() if "unlucky" in body else None)
        unlucky = asyncio.create_task(line.judge(*(f"unlucky {each}" for each in range(5))))
        while not unlucky.done():
            (lucky,) = await line.judge("lucky")
            assert isinstance(lucky, Sent)
        assert all("at the last of 8 attempts" in str(each) for each in await unlucky)
        assert line.calls.pace.limit == 16

    run(test())


def test_a_deadline_that_passes_is_always_the_calls_own() -> None:
    async def test() -> None:
        line = Line(lambda now_s, _: late() if now_s >= GONE_AT_S else None)
        results = await line.judge(*names(20))
        assert [type(each) for each in results] == [Sent] * 16 + [CallTimeoutError] * 4

    run(test())


@pytest.mark.parametrize(
    ("after_s", "calls", "failure", "is_everybodys"),
    [
        (5.0, "abc", server_error(), True),
        (4.9, "abc", server_error(), False),
        (60.0, "abababab", server_error(), False),
        (60.0, "abcd", late(), False),
        (0.0, "a", unreachable(), True),
    ],
)
def test_everybodys_is_what_three_calls_meet_in_five_seconds_without_an_answer(
    after_s: float,
    calls: str,
    failure: AttemptError,
    is_everybodys: bool,  # noqa: FBT001  a row of the table
) -> None:
    clock = Clock()
    outages = Outages(clock)
    assert not any(outages.is_everybodys(call, failure) for call in calls)
    outages.answered()
    clock.now_s = after_s
    *_, found = [outages.is_everybodys(call, failure) for call in calls]
    assert found is is_everybodys
    outages.answered()
    assert outages.is_everybodys("a", failure) is failure.unreachable


def test_a_server_that_goes_away_and_comes_back_is_waited_for_off_the_wire() -> None:
    """One attempt a call: what is refused must count as none."""

    async def test() -> None:
        # Every answer closes its connection, so that the next one has to be made.
        server = Server(0.01, [fault_of("closing:1.0")], {})
        there = asyncio.Event()
        ports: list[int] = []

        def ready(port: int) -> None:
            ports.append(port)
            there.set()

        listening = asyncio.create_task(server.serve(0, ready))
        await there.wait()
        url = f"http://127.0.0.1:{ports[0]}"
        transport = LiveTransport(api_key=SecretStr("sk-ant-test"), base_url=url, max_in_flight=4)
        policy = RetryPolicy(
            max_attempts=1, attempt_timeout_s=20, first_wait_s=0.02, longest_pause_s=0.02
        )
        calls = LiveCalls(transport, policy, 4)
        attempts: list[int] = []
        tried = asyncio.Event()

        def may_send() -> None:
            attempts.append(calls.pace.limit)
            if len(attempts) == 20:
                tried.set()

        try:
            await calls.call(request_for("before"), lambda: None)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            waiting = [
                asyncio.create_task(calls.call(request_for(name), may_send)) for name in names(10)
            ]
            await tried.wait()
            assert not any(task.done() for task in waiting)
            assert attempts[4:] == [1] * 16
            listening = asyncio.create_task(server.serve(ports[0], ready))
            assert all(isinstance(each, Sent) for each in await asyncio.gather(*waiting))
        finally:
            listening.cancel()
            await calls.aclose()

    run(test())

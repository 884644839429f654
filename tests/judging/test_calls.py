import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evals.errors import CallTimeoutError, ExhaustedError, IsolationError, JudgeError
from evals.judging.calls import LiveCalls, Sent
from evals.judging.retry import RetryPolicy
from evals.judging.transport import AttemptError, FailureKind, Reply
from tests.judging.helpers import (
    Clock,
    HeldClock,
    Outcome,
    ScriptedTransport,
    message_for,
    request_for,
    settle,
)

ANSWER = message_for("{}")
REQUEST = request_for("a")


def failure(kind: FailureKind, **more: Any) -> AttemptError:
    return AttemptError("HTTP 599 (no luck)", kind, **more)


class Line:
    """Live calls over a script, with a told clock and no jitter."""

    def __init__(
        self,
        *outcomes: Outcome,
        attempts: int = 4,
        timeout_s: float = 60,
        clock: Clock | None = None,
    ) -> None:
        self.transport = ScriptedTransport(*outcomes)
        self.clock = clock or Clock()
        policy = RetryPolicy(max_attempts=attempts, attempt_timeout_s=timeout_s, first_wait_s=2)
        self.calls = LiveCalls(
            self.transport, policy, 8, sleep=self.clock.sleep, clock=self.clock, chance=lambda: 0.0
        )

    async def call(self, conclusion: str = "a") -> Sent:
        return await self.calls.call(request_for(conclusion), lambda: None)


def run(test: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(test, 20))


async def hang() -> str:
    await asyncio.Event().wait()
    return ANSWER


def test_an_answer_at_once_is_one_attempt_with_the_params_as_they_are() -> None:
    line = Line(ANSWER)
    sent = run(line.call())
    assert (sent.text, sent.attempts) == (ANSWER, 1)
    assert line.transport.sent == [REQUEST.params]
    assert (line.calls.calls, line.calls.attempts, line.calls.retries) == (1, 1, 0)


@pytest.mark.parametrize(
    ("kind", "waits_s"),
    [("retry", [1, 2, 4, 8, 15, 15]), ("slow_down", [1, 2, 2, 2, 2, 2])],
)
def test_transient_failures_are_retried_after_growing_waits(
    kind: FailureKind, waits_s: list[float]
) -> None:
    line = Line(*[failure(kind)] * 6, ANSWER, attempts=7)
    assert run(line.call()).attempts == 7
    assert line.clock.slept_s == waits_s
    assert (line.calls.calls, line.calls.attempts, line.calls.retries) == (1, 7, 6)


def test_refusals_count_as_no_attempt() -> None:
    line = Line(*[failure("slow_down")] * 50, failure("retry"), ANSWER, attempts=2)
    assert run(line.call()).attempts == 52


def test_a_server_that_refuses_everything_for_ten_minutes_ends_the_run() -> None:
    async def test() -> None:
        line = Line(failure("slow_down"), attempts=2)
        names = [str(number) for number in range(50)]
        calls = [asyncio.create_task(line.call(name)) for name in names]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(each) for each in results} == {ExhaustedError}
        for each in results:
            assert "599" in str(each)
            assert "no answer to any call for 60" in str(each) or "attempts" in str(each)
        sent = len(line.transport.sent)
        assert 600 <= line.clock.now_s <= 620
        with pytest.raises(ExhaustedError, match="nothing more is sent"):
            await line.call("another")
        assert len(line.transport.sent) == sent

    run(test())


def test_an_answer_to_another_call_keeps_the_run_going_and_ends_only_who_is_refused() -> None:
    async def test() -> None:
        line = Line(ANSWER)

        async def send(body: bytes) -> Reply:
            if "unlucky" in body.decode():
                raise failure("slow_down")
            return Reply(ANSWER, {})

        line.transport.send = send  # type: ignore[method-assign]
        unlucky = asyncio.create_task(line.call("unlucky"))
        while not unlucky.done():
            assert (await line.call("lucky")).attempts == 1
            await line.clock.sleep(10)
        with pytest.raises(ExhaustedError, match="last of"):
            await unlucky
        assert 600 <= line.clock.now_s <= 630
        assert (await line.call("another")).attempts == 1

    run(test())


def test_no_more_calls_are_sent_than_the_rate_limit_headers_leave() -> None:
    def told(remaining: int) -> Reply:
        reset = datetime.now(UTC) + timedelta(seconds=100)
        prefix = "anthropic-ratelimit-requests"
        return Reply(
            ANSWER,
            {f"{prefix}-remaining": str(remaining), f"{prefix}-reset": reset.isoformat()},
        )

    async def test() -> None:
        clock = HeldClock()
        line = Line(told(3), told(2), told(1), told(0), ANSWER, clock=clock)
        await line.call("first")
        tasks = [asyncio.create_task(line.call(str(number))) for number in range(6)]
        await settle()
        assert len(line.transport.sent) == 4
        assert 90 < line.calls.pace.hold_s <= 100
        await clock.pass_to(100)
        assert [(await each).attempts for each in tasks] == [1] * 6

    run(test())


def test_the_headers_of_a_refusal_are_read_too() -> None:
    async def test() -> None:
        reset = datetime.now(UTC) + timedelta(seconds=100)
        prefix = "anthropic-ratelimit-output-tokens"
        headers = {f"{prefix}-remaining": "0", f"{prefix}-reset": reset.isoformat()}
        clock = HeldClock()
        line = Line(failure("retry", headers=headers), ANSWER, clock=clock)
        call = asyncio.create_task(line.call())
        await settle()
        await clock.pass_to(50)
        assert len(line.transport.sent) == 1
        await clock.pass_to(100)
        assert (await call).attempts == 2

    run(test())


def test_the_wait_that_the_server_asked_for_is_honoured() -> None:
    line = Line(failure("retry", retry_after_s=17), ANSWER)
    run(line.call())
    assert line.clock.slept_s == [17]


@pytest.mark.parametrize(
    ("asked_s", "waited_s"), [(300, 300), (301, 1), (999_999, 1), (float("inf"), 1)]
)
def test_a_wait_that_no_server_can_mean_is_not_believed(asked_s: float, waited_s: float) -> None:
    line = Line(failure("slow_down", retry_after_s=asked_s), ANSWER)
    run(line.call())
    assert line.clock.now_s == waited_s


def test_calls_exhaust_their_attempts_and_say_what_the_last_one_met() -> None:
    line = Line(failure("retry"), attempts=3)
    with pytest.raises(ExhaustedError, match=r"599.*judge\.example.*last of 3 attempts"):
        run(line.call())
    assert len(line.transport.sent) == 3


@pytest.mark.parametrize(
    ("outcomes", "error"),
    [
        ([failure("retry"), failure("retry", timed_out=True)], CallTimeoutError),
        ([failure("retry", timed_out=True), failure("retry")], ExhaustedError),
    ],
)
def test_the_last_attempt_decides_between_timeout_and_exhausted(
    outcomes: list[AttemptError], error: type[JudgeError]
) -> None:
    with pytest.raises(error):
        run(Line(*outcomes, attempts=2).call())


def test_a_silent_attempt_ends_at_its_deadline_and_is_made_again() -> None:
    line = Line(hang, ANSWER, timeout_s=0.01)
    assert run(line.call()).attempts == 2


def test_a_call_that_never_gets_an_answer_in_time_is_a_timeout() -> None:
    with pytest.raises(CallTimeoutError, match=r"within 0\.01 s.*last of 2"):
        run(Line(hang, attempts=2, timeout_s=0.01).call())


def test_a_timeout_from_elsewhere_is_not_taken_for_the_deadline() -> None:
    async def breaks() -> str:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        run(Line(breaks).call())


def test_a_200_that_is_no_message_is_retried() -> None:
    line = Line("<html>busy</html>", ANSWER)
    assert run(line.call()).attempts == 2
    with pytest.raises(ExhaustedError, match="no Message"):
        run(Line("<html>busy</html>", attempts=2).call())


def test_a_refused_request_is_given_up_at_once_and_others_go_on() -> None:
    async def test() -> None:
        line = Line(failure("give_up"), ANSWER)
        with pytest.raises(ExhaustedError, match="599"):
            await line.call("a")
        assert (await line.call("b")).attempts == 1

    run(test())


def test_after_a_refusal_for_the_whole_run_nothing_more_is_sent() -> None:
    async def test() -> None:
        line = Line(failure("stop_run"), ANSWER)
        for conclusion in "abc":
            with pytest.raises(ExhaustedError, match=r"judge\.example.*'claude-judge'.*API_KEY"):
                await line.call(conclusion)
        assert len(line.transport.sent) == 1
        assert line.calls.attempts == 1

    run(test())


def test_calls_that_wait_for_their_retry_stop_with_the_run_too() -> None:
    async def test() -> None:
        line = Line(failure("retry"), failure("stop_run"), ANSWER)
        results = await asyncio.gather(line.call("a"), line.call("b"), return_exceptions=True)
        assert [type(each) for each in results] == [ExhaustedError] * 2
        assert len(line.transport.sent) == 2

    run(test())


@pytest.mark.parametrize(("kind", "sent"), [("slow_down", 1), ("retry", 4)])
def test_overload_holds_all_callers_back_and_other_failures_hold_nobody_else(
    kind: FailureKind, sent: int
) -> None:
    async def test() -> None:
        clock = HeldClock()
        line = Line(failure(kind, retry_after_s=30), ANSWER, clock=clock)
        tasks = [asyncio.create_task(line.call("a"))]
        await settle()
        tasks += [asyncio.create_task(line.call(name)) for name in "bcd"]
        await settle()
        await clock.pass_to(29)
        assert len(line.transport.sent) == sent
        await clock.pass_to(30)
        assert [(await each).attempts for each in tasks] == [2, 1, 1, 1]

    run(test())


def test_each_refusal_takes_a_place_and_successes_give_it_back() -> None:
    async def test() -> None:
        line = Line(*[failure("slow_down")] * 3, ANSWER)
        limits = []
        for number in range(20):
            await line.call(str(number))
            limits.append(line.calls.pace.limit)
        assert limits == [5] * 4 + [6] * 6 + [7] * 7 + [8] * 3

    run(test())


def test_what_may_send_raises_ends_the_call_before_anything_is_sent() -> None:
    def stop() -> None:
        raise IsolationError("case", "a leak", "none", "Look.")

    line = Line(ANSWER)
    with pytest.raises(IsolationError):
        run(line.calls.call(REQUEST, stop))
    assert line.transport.sent == []


def test_may_send_is_asked_when_the_place_is_free_and_not_before() -> None:
    async def test() -> None:
        go = asyncio.Event()

        async def late() -> str:
            await go.wait()
            return ANSWER

        line = Line(*[late] * 8, ANSWER)
        asked: list[int] = []
        crowd = [asyncio.create_task(line.call(str(number))) for number in range(8)]
        await settle()
        queued = asyncio.create_task(line.calls.call(REQUEST, lambda: asked.append(1)))
        await settle()
        assert asked == []
        go.set()
        await asyncio.gather(*crowd, queued)
        assert asked == [1]

    run(test())


def test_errors_carry_no_context_that_could_hold_a_request() -> None:
    with pytest.raises(ExhaustedError) as caught:
        run(Line(failure("give_up")).call())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_closing_closes_the_transport() -> None:
    line = Line(ANSWER)
    run(line.calls.aclose())
    assert line.transport.closed


def test_a_call_that_is_cut_off_in_flight_says_so_and_one_that_waits_does_not() -> None:
    async def cut_off_after(line: Line, begun: int) -> int:
        told: list[str] = []
        call = asyncio.create_task(
            line.calls.call(REQUEST, lambda: None, lambda: told.append("cut off"))
        )
        await settle()
        assert len(line.transport.sent) == begun
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return len(told)

    assert run(cut_off_after(Line(hang), 1)) == 1
    assert run(cut_off_after(Line(failure("retry"), hang), 2)) == 1
    assert run(cut_off_after(Line(failure("retry"), ANSWER, clock=HeldClock()), 1)) == 0

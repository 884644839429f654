import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from evals.errors import (
    ExhaustedError,
    IsolationError,
    NotRecordedError,
    StoreError,
    WrongModelError,
)
from evals.judging.calls import LiveCalls
from evals.judging.engine import JudgeEngine
from evals.judging.isolation import ForbiddenText, Guard, strings_of
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse
from evals.judging.retry import RetryPolicy
from evals.judging.store import AnswerStore, StoredAnswer
from evals.judging.transport import AttemptError
from tests.judging.helpers import (
    MODEL,
    Clock,
    Outcome,
    ScriptedTransport,
    message_for,
    request_for,
    settle,
)

ANSWER = message_for('{"n": 1}')
REQUEST = request_for("a")
LEAKY = request_for(
    "a", guard=Guard("case-1", ForbiddenText((("a window line", "Judge it."),)), accounted=())
)


class Bench:
    """An engine over a scripted transport (none: recorded mode) and folders of its own."""

    def __init__(self, folder: Path, *outcomes: Outcome, max_in_flight: int = 8) -> None:
        self.folder = folder
        self.transport = ScriptedTransport(*outcomes) if outcomes else None
        clock = Clock()
        live = None
        if self.transport is not None:
            live = LiveCalls(
                self.transport, RetryPolicy(3, 60), max_in_flight, sleep=clock.sleep, clock=clock
            )
        self.engine = JudgeEngine(
            AnswerStore(folder / "answers.sqlite"), Recordings(folder / "recordings"), live
        )

    @property
    def sent(self) -> int:
        return 0 if self.transport is None else len(self.transport.sent)

    def run(self, test: Callable[[JudgeEngine], Coroutine[Any, Any, Any]]) -> Any:
        async def whole() -> Any:
            try:
                return await asyncio.wait_for(test(self.engine), 20)
            finally:
                await self.engine.aclose()

        return asyncio.run(whole())

    def ask(self, *requests: JudgeRequest) -> list[JudgeResponse | BaseException]:
        async def test(engine: JudgeEngine) -> Any:
            return [
                (await asyncio.gather(engine.ask(each), return_exceptions=True))[0]
                for each in requests
            ]

        answers: list[JudgeResponse | BaseException] = self.run(test)
        return answers


def good(answer: JudgeResponse | BaseException) -> JudgeResponse:
    assert isinstance(answer, JudgeResponse), answer
    return answer


def record(folder: Path, request: JudgeRequest, message: str) -> None:
    (folder / "recordings").mkdir(exist_ok=True)
    result = {"type": "succeeded", "message": json.loads(message)}
    line = json.dumps({"custom_id": request.request_hash, "result": result})
    (folder / "recordings" / "r.jsonl").write_text(line + "\n")


def put(folder: Path, request: JudgeRequest, message: str) -> None:
    store = AnswerStore(folder / "answers.sqlite")
    store.put(StoredAnswer(request.request_hash, message, MODEL, MODEL, None))
    store.close()


def stored(folder: Path, request: JudgeRequest) -> StoredAnswer | None:
    store = AnswerStore(folder / "answers.sqlite")
    try:
        return store.get(request.request_hash)
    finally:
        store.close()


def test_a_live_answer_is_stored_verbatim_and_never_asked_for_again(tmp_path: Path) -> None:
    answer = good(Bench(tmp_path, AttemptError("busy", "retry"), ANSWER).ask(REQUEST)[0])
    assert (answer.text, answer.stop_reason) == ('{"n": 1}', "end_turn")
    assert (answer.call.source, answer.call.attempts) == ("live", 2)
    kept = stored(tmp_path, REQUEST)
    assert kept is not None
    assert (kept.message, kept.model_asked, kept.model_served) == (ANSWER, MODEL, MODEL)
    assert kept.received_at is not None
    later = Bench(tmp_path, ANSWER)
    call = good(later.ask(REQUEST)[0]).call
    assert (call.source, call.attempts, later.sent) == ("store", 0, 0)


def test_the_store_is_read_before_the_recordings_and_both_before_a_call(tmp_path: Path) -> None:
    other = request_for("b")
    record(tmp_path, REQUEST, message_for("recorded"))
    bench = Bench(tmp_path, message_for("live"))
    answers = [good(each) for each in bench.ask(REQUEST, other)]
    assert [(each.text, each.call.source) for each in answers] == [
        ("recorded", "recording"),
        ("live", "live"),
    ]
    put(tmp_path, REQUEST, message_for("stored"))
    assert good(Bench(tmp_path, ANSWER).ask(REQUEST)[0]).text == "stored"


def test_recorded_mode_names_what_is_missing_and_counts_it_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    first, second = request_for("b"), request_for("a")
    errors = bench.ask(first, second, first)
    assert all(isinstance(each, NotRecordedError) for each in errors)
    assert first.request_hash in str(errors[0])
    assert "ANTHROPIC_API_KEY" in str(errors[0])
    lacking = bench.engine.missing.finish()
    assert (lacking.requests, lacking.exported) == (2, None)


def test_what_a_call_failed_with_is_never_stored(tmp_path: Path) -> None:
    bench = Bench(tmp_path, AttemptError("no", "give_up"))
    assert isinstance(bench.ask(REQUEST)[0], ExhaustedError)
    assert stored(tmp_path, REQUEST) is None


@pytest.mark.parametrize("stop_reason", ["refusal", "max_tokens"])
def test_a_refusal_or_a_cut_answer_is_an_answer_and_is_kept(
    tmp_path: Path, stop_reason: str
) -> None:
    bench = Bench(tmp_path, message_for("{", stop_reason=stop_reason))
    assert good(bench.ask(REQUEST)[0]).stop_reason == stop_reason
    assert stored(tmp_path, REQUEST) is not None


def test_concurrent_equal_requests_share_one_call_under_their_own_names(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ANSWER)
    twin = request_for("a", purpose="premise.other")

    async def test(engine: JudgeEngine) -> list[JudgeResponse]:
        return await asyncio.gather(*(engine.ask(each) for each in (REQUEST, twin, REQUEST)))

    answers = bench.run(test)
    assert bench.sent == 1
    assert [each.call.purpose for each in answers] == [
        "premise.pass_1",
        "premise.other",
        "premise.pass_1",
    ]
    assert {each.call.source for each in answers} == {"live"}


def test_an_answer_that_this_run_paid_for_stays_live_when_asked_for_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ANSWER)
    calls = [good(each).call for each in bench.ask(REQUEST, REQUEST)]
    assert calls[0] == calls[1]
    assert (calls[1].source, calls[1].attempts) == ("live", 1)
    assert bench.engine.counts.answers == {"live": 1}


def test_a_repeat_asks_afresh(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ANSWER)
    bench.ask(REQUEST, request_for("a", repeat=1))
    assert bench.sent == 2


class Held:
    """A transport outcome that waits to be let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.cancelled = False

    async def __call__(self) -> str:
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return ANSWER


@pytest.mark.parametrize("cancelled", [0, 1, 2])
def test_cancelling_one_waiter_leaves_the_call_to_the_others(
    tmp_path: Path, cancelled: int
) -> None:
    held = Held()
    bench = Bench(tmp_path, held)

    async def test(engine: JudgeEngine) -> None:
        waiters = [asyncio.create_task(engine.ask(REQUEST)) for _ in range(3)]
        await settle()
        waiters.pop(cancelled).cancel()
        await settle()
        held.go.set()
        assert [(await each).text for each in waiters] == ['{"n": 1}'] * 2

    bench.run(test)
    assert (bench.sent, held.cancelled) == (1, False)


def test_a_call_ends_with_its_last_waiter_and_a_later_ask_starts_anew(tmp_path: Path) -> None:
    held = Held()
    bench = Bench(tmp_path, held, ANSWER)

    async def test(engine: JudgeEngine) -> None:
        waiters = [asyncio.create_task(engine.ask(REQUEST)) for _ in range(2)]
        await settle()
        for waiter in waiters:
            waiter.cancel()
        # Before the cancelled call has had a chance to end.
        await asyncio.sleep(0)
        assert (await engine.ask(REQUEST)).text == '{"n": 1}'

    bench.run(test)
    assert (bench.sent, held.cancelled) == (2, True)
    assert bench.engine.counts.in_flight == 0


def test_a_failed_call_fails_all_its_waiters_and_the_next_ask_tries_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, AttemptError("no", "give_up"), ANSWER)

    async def test(engine: JudgeEngine) -> None:
        asks = [engine.ask(REQUEST) for _ in range(2)]
        errors = await asyncio.gather(*asks, return_exceptions=True)
        assert [type(each) for each in errors] == [ExhaustedError] * 2
        assert (await engine.ask(REQUEST)).text == '{"n": 1}'

    bench.run(test)


def test_closing_cancels_what_is_in_flight(tmp_path: Path) -> None:
    held = Held()
    bench = Bench(tmp_path, held)

    async def test(engine: JudgeEngine) -> asyncio.Task[JudgeResponse]:
        waiter = asyncio.create_task(engine.ask(REQUEST))
        await settle()
        await engine.aclose()
        await asyncio.gather(waiter, return_exceptions=True)
        return waiter

    assert bench.run(test).cancelled()
    assert held.cancelled
    assert bench.transport is not None
    assert bench.transport.closed


def test_a_leak_stops_the_engine_before_store_and_server(tmp_path: Path) -> None:
    put(tmp_path, REQUEST, ANSWER)
    bench = Bench(tmp_path, ANSWER)
    answers = bench.ask(LEAKY, REQUEST, request_for("b"))
    assert [type(each) for each in answers] == [IsolationError] * 3
    assert {str(each) for each in answers} == {str(answers[0])}
    assert bench.sent == 0


def test_a_leak_keeps_calls_that_wait_for_their_retry_from_being_sent(tmp_path: Path) -> None:
    held = Held()
    bench = Bench(tmp_path, AttemptError("busy", "retry"), ANSWER)

    async def test(engine: JudgeEngine) -> None:
        waiter = asyncio.create_task(engine.ask(request_for("b")))
        while not bench.sent:  # noqa: ASYNC110  until the first attempt has failed
            await asyncio.sleep(0)
        with pytest.raises(IsolationError):
            await engine.ask(LEAKY)
        with pytest.raises(IsolationError):
            await waiter

    bench.run(test)
    assert bench.sent == 1
    assert not held.cancelled


def test_a_leak_keeps_calls_that_stand_in_line_from_being_sent(tmp_path: Path) -> None:
    held = Held()
    bench = Bench(tmp_path, held, ANSWER, max_in_flight=1)

    async def test(engine: JudgeEngine) -> None:
        running = asyncio.create_task(engine.ask(REQUEST))
        await settle()
        queued = [asyncio.create_task(engine.ask(request_for(name))) for name in "bc"]
        await settle()
        with pytest.raises(IsolationError) as leak:
            await engine.ask(LEAKY)
        held.go.set()
        assert (await running).text == '{"n": 1}'
        for each in queued:
            with pytest.raises(IsolationError) as caught:
                await each
            assert str(caught.value) == str(leak.value)

    bench.run(test)
    assert bench.sent == 1
    assert bench.engine.counts.attempts == 1


def test_a_wrong_model_keeps_calls_that_stand_in_line_from_being_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, message_for("x", model="claude-other"), ANSWER, max_in_flight=1)

    async def test(engine: JudgeEngine) -> list[BaseException | JudgeResponse]:
        asks = [engine.ask(request_for(name)) for name in "abc"]
        return await asyncio.gather(*asks, return_exceptions=True)

    answers = bench.run(test)
    assert [type(each) for each in answers] == [WrongModelError] * 3
    assert bench.sent == 1


def test_a_wrong_model_after_a_leak_does_not_take_its_place(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def wrong_model() -> str:
        await go.wait()
        return message_for("x", model="claude-other")

    bench = Bench(tmp_path, wrong_model, ANSWER, max_in_flight=1)

    async def test(engine: JudgeEngine) -> None:
        running, queued = (
            asyncio.create_task(engine.ask(request_for(name))) for name in ("b", "c")
        )
        await settle()
        with pytest.raises(IsolationError):
            await engine.ask(LEAKY)
        go.set()
        with pytest.raises(WrongModelError):
            await running
        with pytest.raises(IsolationError):
            await queued
        with pytest.raises(IsolationError):
            await engine.ask(request_for("d"))

    bench.run(test)
    assert bench.sent == 1


def test_a_guard_is_checked_on_answers_from_the_store_too(tmp_path: Path) -> None:
    put(tmp_path, LEAKY, ANSWER)
    assert isinstance(Bench(tmp_path).ask(LEAKY)[0], IsolationError)


def test_a_request_that_leaks_nothing_passes_its_guard(tmp_path: Path) -> None:
    accounted = tuple(strings_of(request_for("a").params))
    guard = Guard("case", ForbiddenText((("a window line", "something else"),)), accounted)
    assert good(Bench(tmp_path, ANSWER).ask(request_for("a", guard=guard))[0]).text


def test_another_model_is_not_stored_and_stops_the_engine(tmp_path: Path) -> None:
    bench = Bench(tmp_path, message_for("x", model="claude-other"), ANSWER)
    answers = bench.ask(REQUEST, request_for("b"))
    assert [type(each) for each in answers] == [WrongModelError] * 2
    assert bench.sent == 1
    assert stored(tmp_path, REQUEST) is None


def test_a_dated_snapshot_is_the_model_but_two_of_them_are_not_one_judge(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path,
        message_for("x", model=f"{MODEL}-20260101"),
        message_for("x", model=f"{MODEL}-20260601"),
    )
    first, second = bench.ask(REQUEST, request_for("b"))
    assert good(first).call.model_served == f"{MODEL}-20260101"
    assert isinstance(second, WrongModelError)


def test_stored_and_live_answers_of_two_snapshots_do_not_mix(tmp_path: Path) -> None:
    put(tmp_path, REQUEST, message_for("x", model=f"{MODEL}-20260101"))
    bench = Bench(tmp_path, message_for("x", model=f"{MODEL}-20260601"))
    assert isinstance(bench.ask(REQUEST, request_for("b"))[1], WrongModelError)


@pytest.mark.parametrize("where", ["store", "recording"])
def test_a_kept_answer_that_is_no_message_is_the_stores_fault(tmp_path: Path, where: str) -> None:
    keep = put if where == "store" else record
    keep(tmp_path, REQUEST, '{"type": "error"}')
    error = Bench(tmp_path).ask(REQUEST)[0]
    assert isinstance(error, StoreError)
    assert REQUEST.request_hash in str(error)


def test_where_another_process_was_first_its_answer_stands(tmp_path: Path) -> None:
    async def meanwhile() -> str:
        put(tmp_path, REQUEST, message_for("theirs"))
        return message_for("ours")

    assert good(Bench(tmp_path, meanwhile).ask(REQUEST)[0]).text == "theirs"


def test_counts_tell_calls_attempts_retries_and_sources(tmp_path: Path) -> None:
    put(tmp_path, request_for("stored"), ANSWER)
    record(tmp_path, request_for("recorded"), ANSWER)
    bench = Bench(tmp_path, AttemptError("busy", "retry"), ANSWER)
    bench.ask(*(request_for(name) for name in ("stored", "recorded", "new", "newer", "new")))
    counts = bench.engine.counts
    assert (counts.calls, counts.attempts, counts.retries, counts.in_flight) == (2, 3, 1, 0)
    assert counts.answers == {"store": 1, "recording": 1, "live": 2}

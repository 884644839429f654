"""The live transport against a real server on this machine."""

import asyncio
import hashlib
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from evals.config import NO_LIMITS, RunConfig
from evals.errors import (
    ConfigError,
    EvalError,
    ExhaustedError,
    InvalidOutputError,
    RefusedError,
    TruncatedError,
    WrongModelError,
)
from evals.judging.engine import JudgeEngine
from evals.judging.live import LiveTransport
from evals.judging.opening import open_engine
from evals.judging.response import JudgeResponse, parse_answer
from evals.judging.transport import AttemptError
from evals.premise.schema import Pass1
from tests.judging.helpers import MODEL, request_for
from tests.messages_api.fixtures import MessagesApi

KEY = "sk-ant-do-not-tell-anyone"
ROOT = Path(__file__).parents[2]

Configure = Callable[..., RunConfig]


@pytest.fixture
def configure(tmp_path: Path, messages_api: MessagesApi) -> Configure:
    def make(**changed: Any) -> RunConfig:
        # What the judge reads of it, and no more.
        fields: dict[str, Any] = {
            "judge_mode": "live",
            "max_in_flight": 64,
            "call_timeout_s": 30.0,
            "max_attempts": 4,
            "limits": NO_LIMITS,
            "base_url": messages_api.url,
            "api_key": SecretStr(KEY),
            "store_path": tmp_path / "answers.sqlite",
            "recordings_dir": tmp_path / "recordings",
        }
        return RunConfig.model_construct(**fields | changed)

    return make


def ask_all(config: RunConfig, *conclusions: str) -> tuple[list[Any], JudgeEngine]:
    async def run() -> tuple[list[Any], JudgeEngine]:
        engine = open_engine(config)
        try:
            asks = (engine.ask(request_for(each)) for each in conclusions)
            return await asyncio.gather(*asks, return_exceptions=True), engine
        finally:
            await engine.aclose()

    return asyncio.run(asyncio.wait_for(run(), 60))


def test_the_body_is_sent_as_it_is_and_the_answer_is_a_judgement(
    configure: Configure, messages_api: MessagesApi
) -> None:
    (answer,), engine = ask_all(configure(), "alice sails")
    assert isinstance(answer, JudgeResponse)
    assert parse_answer(answer, Pass1).reconstruction == "alice sails"
    assert answer.call.input_tokens is not None
    canonical = json.dumps(request_for("alice sails").params, sort_keys=True)
    sent = hashlib.sha256(canonical.encode()).hexdigest()
    assert messages_api.counts()["answered"] == {sent: 1}
    assert engine.counts.answers == {"live": 1}


def test_an_engine_may_be_opened_before_its_loop_runs(configure: Configure) -> None:
    engine = open_engine(configure(max_in_flight=2))

    async def run() -> list[JudgeResponse]:
        try:
            return await asyncio.gather(*(engine.ask(request_for(each)) for each in "abcd"))
        finally:
            await engine.aclose()

    assert len(asyncio.run(run())) == 4


def test_calls_run_side_by_side_up_to_the_bound_and_no_further(
    configure: Configure, messages_api: MessagesApi
) -> None:
    messages_api.reset(latency_s=0.05)
    answers, _ = ask_all(configure(max_in_flight=16), *(f"c{n}" for n in range(64)))
    assert all(isinstance(each, JudgeResponse) for each in answers)
    assert messages_api.counts()["max_in_flight"] == 16


def test_no_answered_call_is_made_again_under_overload_and_after_it(
    configure: Configure, messages_api: MessagesApi
) -> None:
    messages_api.reset("overloaded:0.1", "rate_limited:0.07", headers={"retry-after": "0"})
    config = configure(max_attempts=8)
    conclusions = [f"c{n}" for n in range(100)]
    answers, engine = ask_all(config, *conclusions)
    assert all(isinstance(each, JudgeResponse) for each in answers)
    counts = messages_api.counts()
    assert len(counts["answered"]) == 100
    assert set(counts["answered"].values()) == {1}
    refused = counts["statuses"]["529"] + counts["statuses"]["429"]
    assert (engine.counts.calls, engine.counts.retries) == (100, refused)
    again, _ = ask_all(config, *conclusions)
    assert {each.call.source for each in again} == {"store"}
    assert messages_api.counts()["posts"] == counts["posts"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_transient_statuses_are_tried_again(
    configure: Configure, messages_api: MessagesApi, status: int
) -> None:
    messages_api.reset(f"http_{status}:1-1", headers={"retry-after-ms": "1"})
    (answer,), _ = ask_all(configure(), "a")
    assert answer.call.attempts == 2


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_request_is_not_tried_again(
    configure: Configure, messages_api: MessagesApi, status: int
) -> None:
    messages_api.reset(f"http_{status}:1-1")
    (error,), _ = ask_all(configure(), "a")
    assert isinstance(error, ExhaustedError)
    assert f"HTTP {status}" in str(error)
    assert messages_api.counts()["posts"] == 1


@pytest.mark.parametrize("status", [307, 401, 402, 403, 404])
def test_a_wrong_key_model_or_address_ends_the_run_and_says_what_to_check(
    configure: Configure, messages_api: MessagesApi, status: int
) -> None:
    messages_api.reset(f"http_{status}:1-", headers={"location": "http://127.0.0.1:1/"})
    errors, _ = ask_all(configure(max_in_flight=1), "a", "b", "c")
    assert {type(each) for each in errors} == {ExhaustedError}
    for named in (f"HTTP {status}", MODEL, messages_api.url, "ANTHROPIC_API_KEY"):
        assert named in str(errors[2])
    assert messages_api.counts()["posts"] == 1


def test_a_lost_connection_is_tried_again(configure: Configure, messages_api: MessagesApi) -> None:
    messages_api.reset("outage:1-1")
    (answer,), _ = ask_all(configure(), "a")
    assert answer.call.attempts == 2


def test_a_server_that_is_not_there_exhausts_the_call(configure: Configure) -> None:
    (error,), _ = ask_all(configure(base_url="http://127.0.0.1:9", max_attempts=1), "a")
    assert isinstance(error, ExhaustedError)
    assert "no connection" in str(error)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("truncated", TruncatedError),
        ("refusal", RefusedError),
        ("fenced", InvalidOutputError),
        ("non_json", InvalidOutputError),
        ("wrong_schema", InvalidOutputError),
    ],
)
def test_every_way_to_answer_without_a_judgement_has_its_reason(
    configure: Configure, messages_api: MessagesApi, fault: str, error: type[EvalError]
) -> None:
    messages_api.reset(f"{fault}:1-")
    (answer,), _ = ask_all(configure(), "a")
    with pytest.raises(error):
        parse_answer(answer, Pass1)


def test_a_200_that_is_no_message_is_tried_again(
    configure: Configure, messages_api: MessagesApi
) -> None:
    messages_api.reset("no_message:1-1")
    (answer,), _ = ask_all(configure(), "a")
    assert answer.call.attempts == 2


def test_another_model_stops_the_run_and_a_snapshot_does_not(
    configure: Configure, messages_api: MessagesApi
) -> None:
    messages_api.reset("snapshot:1-")
    (answer,), _ = ask_all(configure(), "a")
    assert answer.call.model_served == f"{MODEL}-20260101"
    messages_api.reset("other_model:1-")
    (error,), _ = ask_all(configure(), "b")
    assert isinstance(error, WrongModelError)


def test_the_key_appears_nowhere(
    configure: Configure,
    messages_api: MessagesApi,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    messages_api.reset("http_500:1-1", "http_400:3-3", headers={"retry-after": "0"})
    config = configure()
    results, engine = ask_all(config, "a", "b")
    answer, error = sorted(results, key=lambda each: isinstance(each, ExhaustedError))
    transport = LiveTransport(api_key=SecretStr(KEY), base_url=None, max_in_flight=1)
    asyncio.run(transport.aclose())
    shown = [repr(each) for each in (config, answer, error, engine, transport, engine.counts)]
    shown += [str(error), repr(vars(error)), caplog.text]
    assert isinstance(error, ExhaustedError)
    assert len(caplog.text) > 0
    assert all(KEY not in each for each in shown)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert all(KEY.encode() not in path.read_bytes() for path in files)


def test_a_server_that_says_the_key_back_is_not_quoted_with_it(
    messages_api: MessagesApi,
) -> None:
    # The server's "nothing at POST <path>" repeats the address, and with it what stands there.
    async def test() -> AttemptError:
        transport = LiveTransport(
            api_key=SecretStr(KEY), base_url=f"{messages_api.url}/{KEY}", max_in_flight=1
        )
        with pytest.raises(AttemptError) as caught:
            await transport.send(request_for("a").body)
        await transport.aclose()
        return caught.value

    error = asyncio.run(test())
    assert "(key)" in error.what
    assert KEY not in repr(error)
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("base_url", "server"),
    [
        (None, "https://api.anthropic.com"),
        ("http://user:secret@judge.example:8080/v1?token=x", "http://judge.example:8080/v1"),
    ],
)
def test_the_server_is_named_without_credentials(base_url: str | None, server: str) -> None:
    transport = LiveTransport(api_key=SecretStr(KEY), base_url=base_url, max_in_flight=1)
    assert transport.server == server
    asyncio.run(transport.aclose())


def test_live_mode_without_a_key_is_refused(configure: Configure) -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        open_engine(configure(api_key=None))


def test_recorded_mode_needs_no_key_and_imports_no_sdk(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from evals.config import NO_LIMITS, RunConfig\n"
        "from evals.judging.opening import open_engine\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "config = RunConfig.model_construct(judge_mode='recorded', api_key=None,"
        " limits=NO_LIMITS, store_path=folder / 's.sqlite', recordings_dir=folder,"
        " export_dir=None)\n"
        "open_engine(config)\n"
        "print([name for name in ('anthropic', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")

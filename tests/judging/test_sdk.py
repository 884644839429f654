"""The SDK's client on the wire: what servers and proxies do to connections and answers."""

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from evals.judging.calls import LiveCalls
from evals.judging.live import LiveTransport
from evals.judging.message import parse_message
from evals.judging.retry import RetryPolicy
from evals.judging.transport import Reply
from tests.judging.helpers import request_for
from tests.judging.wire import KEY, exchange, failure_of
from tests.messages_api.fixtures import MessagesApi

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize("form", ["chunked", "gzip"])
def test_a_good_answer_may_come_in_any_form(form: str, messages_api: MessagesApi) -> None:
    conclusions = ("a\u00e9\u4e2d", "b", "c")
    plain = exchange(messages_api.url, *conclusions, at_once=1)
    messages_api.reset(f"{form}:1.0")
    dressed = exchange(messages_api.url, *conclusions, at_once=1)
    assert texts_of(dressed) == texts_of(plain)


def texts_of(results: Sequence[Reply | BaseException]) -> list[str]:
    return [each.text if isinstance(each, Reply) else repr(each) for each in results]


def test_a_body_of_some_megabytes_arrives_whole(messages_api: MessagesApi) -> None:
    (result,) = exchange(messages_api.url, "\u00e9" * 3_000_000)
    assert isinstance(result, Reply)
    said = parse_message(result.text).text
    assert json.loads(said)["reconstruction"] == "\u00e9" * 3_000_000


@pytest.mark.parametrize(
    "fault", ["outage", "reset", "cut_off", "broken_gzip", "garbage", "http_503", "no_answer"]
)
def test_a_broken_answer_is_one_to_try_again(fault: str, messages_api: MessagesApi) -> None:
    if fault == "no_answer":
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        (result,) = exchange(url, "a")
    else:
        messages_api.reset(f"{fault}:1.0", headers={"retry-after": "3"})
        (result,) = exchange(messages_api.url, "a")
    failure = failure_of(result)
    assert (failure.kind, failure.timed_out) == ("retry", False)
    assert failure.unreachable == (fault == "no_answer")
    assert failure.retry_after_s == (3.0 if fault == "http_503" else None)
    assert failure.__context__ is None
    assert KEY not in str(vars(failure))


@pytest.mark.parametrize(
    "fault", ["silent", "dripping", "dripping_head", "headers_only", "half_body"]
)
def test_a_deadline_ends_the_attempt_and_its_connection(
    fault: str, messages_api: MessagesApi
) -> None:
    messages_api.reset(f"{fault}:1-1")
    results = exchange(messages_api.url, *"abc", deadline_s=1.0, at_once=1)
    assert [type(each) for each in results] == [TimeoutError, Reply, Reply]
    assert messages_api.counts_at_rest()["open_connections"] == 0


def test_a_given_up_attempt_closes_its_connection_while_others_go_on(
    messages_api: MessagesApi,
) -> None:
    messages_api.reset("half_body:1-")

    async def test() -> Any:
        transport = LiveTransport(
            api_key=SecretStr(KEY), base_url=messages_api.url, max_in_flight=64
        )
        for number in range(4):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await transport.send(request_for(str(number)).body)
        messages_api.reset()
        await transport.send(request_for("good").body)
        found = [messages_api.counts()["open_connections"]]
        while found[-1] > 1 and len(found) < 200:
            found.append(messages_api.counts()["open_connections"])
        await transport.aclose()
        return found[-1]

    assert asyncio.run(test()) == 1


def test_a_server_that_accepts_and_never_reads_is_given_up_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        results = exchange(url, "short", "long" * 50_000, deadline_s=0.4)
    assert [type(each) for each in results] == [TimeoutError] * 2


def test_a_connection_that_the_server_closes_between_calls_costs_no_answer(
    messages_api: MessagesApi,
) -> None:
    messages_api.reset("closing:0.5")

    async def test() -> list[int]:
        transport = LiveTransport(
            api_key=SecretStr(KEY), base_url=messages_api.url, max_in_flight=4
        )
        policy = RetryPolicy(max_attempts=4, attempt_timeout_s=20, first_wait_s=0.01)
        calls = LiveCalls(transport, policy, 4)
        try:
            sending = (calls.call(request_for(str(number)), lambda: None) for number in range(60))
            return [sent.attempts for sent in await asyncio.gather(*sending)]
        finally:
            await calls.aclose()

    attempts = asyncio.run(test())
    assert len(attempts) == 60
    assert max(attempts) <= 4
    answered = messages_api.counts()["answered"]
    assert set(answered.values()) == {1}


def test_a_redirect_is_an_error_and_the_key_goes_nowhere_else(messages_api: MessagesApi) -> None:
    with recorder() as (other, heard):
        for status in (301, 302, 303, 307, 308):
            messages_api.reset(f"http_{status}:1-", headers={"location": f"{other}/v1/messages"})
            (result,) = exchange(messages_api.url, "a")
            failure = failure_of(result)
            assert (failure.kind, failure.status) == ("stop_run", status)
            assert messages_api.counts()["posts"] == 1
    assert heard == []


@contextmanager
def recorder(forward_to: int | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that notes the first line and headers of each request.

    As a proxy it hands each one on to a local port, in the form that a server wants.
    """
    heard: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    _answer(client, heard, forward_to)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def _answer(client: socket.socket, heard: list[bytes], forward_to: int | None) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    heard.append(head)
    if forward_to is None:
        client.sendall(b"HTTP/1.1 418 Teapot\r\ncontent-length: 0\r\n\r\n")
        return
    lines = head.split(b"\r\n")
    length = next(line for line in lines if line.lower().startswith(b"content-length:"))
    while len(body) < int(length.partition(b":")[2]):
        body += client.recv(65536)
    method, url, version = lines[0].split(b" ")
    path = b"/" + url.split(b"/", 3)[3]
    with socket.create_connection(("127.0.0.1", forward_to)) as server:
        server.sendall(b"\r\n".join([b" ".join([method, path, version]), *lines[1:], b"", body]))
        client.sendall(server.recv(1_000_000))


def test_a_proxy_in_the_environment_is_used(
    messages_api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages_api.reset()
    port = int(messages_api.url.rpartition(":")[2])
    with recorder(forward_to=port) as (proxy, heard):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        (result,) = exchange(messages_api.url, "a")
    assert isinstance(result, Reply)
    (head,) = heard
    assert head.startswith(f"POST {messages_api.url}/v1/messages ".encode())


def test_https_goes_through_its_own_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with recorder() as (proxy, heard):
        # No TLS here: that the proxy is asked for the tunnel is enough, and no key goes before it.
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        (result,) = exchange("https://judge.example", "a")
    assert failure_of(result).kind == "retry"
    (head,) = heard
    assert head.startswith(b"CONNECT judge.example:443 ")
    assert KEY.encode() not in head


def test_an_address_that_is_to_have_no_proxy_has_none(
    messages_api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages_api.reset()
    with recorder() as (proxy, heard):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        (result,) = exchange(messages_api.url, "a")
    assert isinstance(result, Reply)
    assert heard == []

"""The key reaches the server and nothing else: no file, no output, whatever is logged or fails."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.durability.endings import PREMISE
from tests.messages_api.fixtures import MessagesApi
from tests.messages_api.messages import message_to
from tests.plugin.runs import Evaluations, Finished, MakeTrace

KEY = "sk-ant-api03-Zq8vTn4LkW2rY7mB1xC5dF9gH3jK6pS0-uEoIaQwErTyU"
FIRST_GOOD = 12
"""Requests that are answered well before the server begins to misbehave: rows are written, too."""


class EchoServer(ThreadingHTTPServer):
    """Says the key back wherever an answer can hold text."""

    daemon_threads = True

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Echo)
        self.status = status
        self.keys: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def is_good_turn(self, key: str) -> bool:
        with self._lock:
            self.keys[key] += 1
            return self.keys.total() <= FIRST_GOOD


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EchoServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers["authorization"].removeprefix("Bearer ")
        if self.server.is_good_turn(key):
            self._answer(200, json.dumps(message_to(body, "none")), {})
            return
        said: dict[str, Any] = {
            "type": "error",
            "error": {"type": f"no {key}", "message": f"bad key {key}"},
        }
        headers = {"request-id": key, "set-cookie": f"key={key}", "retry-after-ms": "1"}
        if self.server.status == 200:
            said = message_to(body, "none")
            said["content"] = [{"type": "text", "text": f"Your key is {key}."}]
        self._answer(self.server.status, json.dumps(said), headers)

    def _answer(self, status: int, text: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        content = text.encode()
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def echo(request: pytest.FixtureRequest) -> Iterator[EchoServer]:
    server = EchoServer(request.param)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def assert_key_is_nowhere(run: Finished, folder: Path) -> None:
    """Search everything that was said and written, also for a large part of the key."""
    part = KEY[8:40]
    assert part not in run.output
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if part.encode() in path.read_bytes()] == []
    names = {path.name for path in files}
    assert {"answers.sqlite", "rows.jsonl", "run.json", "report.html", "junit.xml"} <= names


TWO = ("-n", "2")
LOUD = (
    *("-v", "-s", "--tb=long", "--showlocals", "-o", "log_cli=true"),
    *("--log-cli-level=DEBUG", "--log-level=DEBUG", "--log-file-level=DEBUG"),
)


@pytest.mark.parametrize(
    ("echo", "workers"),
    # A worker hears of rows alone: of answers that hold the key, and of errors that do.
    [*((status, ()) for status in (200, 400, 401, 500, 302)), (200, TWO), (401, TWO)],
    indirect=["echo"],
)
def test_a_server_that_says_the_key_back_does_not_get_it_written_down(
    workers: tuple[str, ...], echo: EchoServer, evaluations: Evaluations, make_trace: MakeTrace
) -> None:
    folder = evaluations.folder
    run = evaluations.run(
        PREMISE,
        *("--traces", str(make_trace(2, 5)), "--max-attempts", "2", "--max-in-flight", "4"),
        *(*LOUD, f"--log-file={folder / 'log.txt'}", f"--junitxml={folder / 'junit.xml'}"),
        *workers,
        environment={
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": echo.url,
            "ANTHROPIC_LOG": "debug",
            "PYTHONASYNCIODEBUG": "1",
        },
    )
    assert run.code == 1, run.output
    assert set(echo.keys) == {KEY}
    assert echo.keys.total() > FIRST_GOOD
    assert_key_is_nowhere(run, folder)


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY}-ünïcödé", f"{KEY} {KEY}", f"{KEY}\x7f"])
def test_what_cannot_be_a_key_is_refused_and_not_shown(
    key: str, evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    run = evaluations.run(
        *(PREMISE, "--traces", str(make_trace(2, 5)), *LOUD),
        api=messages_api,
        environment={"ANTHROPIC_API_KEY": key},
    )
    assert run.code == 4, run.output
    assert "ANTHROPIC_API_KEY: found a space, a line break" in " ".join(run.output.split())
    assert KEY[8:40] not in run.output
    assert messages_api.counts()["posts"] == 0

"""A local server that speaks ``POST /v1/messages``, answers validly, and fails on demand.

    python tests/messages_api/server.py --port 0 --latency-s 0.2 --fault overloaded:0.1

prints its port on the first line. Standard library only; one process, one event loop.

Faults, each ``KIND:WHEN``. WHEN counts POSTs from 1: ``0.1`` every tenth, ``3-5`` the third to the
fifth, ``3-`` from the third on; or seconds since the first POST: ``2s-10s``, ``2s-``.
``KIND@KEY:WHEN``, of those, only the ones whose answer has the key ``KEY``
(``wrong_schema@matches:1``). KIND:

    overloaded (529), rate_limited (429), spend_cap (429), http_<status>    an error
    outage, reset, garbage, cut_off, broken_gzip     closed without an answer, or in the middle
    silent, dripping, dripping_head, headers_only, half_body                no end
    closing, chunked, gzip                           a good answer; closed after it; in that form
    truncated, refusal, fenced, non_json, wrong_schema       an answer that is no judgement
    other_model, snapshot, later_snapshot, no_message        not what was asked for

Errors carry the ``headers`` of the settings. A name can start with the status that it is for:
``429/retry-after``. A value ``@date+2`` stands for the HTTP date 2 s from now.

``GET /control`` gives the counters, ``POST /control`` sets ``{"latency_s", "faults", "headers",
"quota", "clock_ahead_s"}`` anew and starts them at zero. ``quota``: ``{"requests", "period_s",
"refills"}``, beyond which is 429, with the API's rate-limit headers on every answer; or null.
``clock_ahead_s``: how wrong the server's clock is, and every answer has a ``date``; or null.

Message Batches and their faults: see ``batches.py``.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

if not __package__:  # started as a file, from wherever
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.messages_api.answers import BadRequestError, Json, asked_key
from tests.messages_api.batches import Batches
from tests.messages_api.faults import (
    DRESSED,
    UNANSWERED,
    Fault,
    Streams,
    dress,
    fault_of,
    misbehave,
)
from tests.messages_api.messages import body_hash, error_of, message_to
from tests.messages_api.quota import SimulatedQuota


@dataclass
class Counts:
    """What happened since the last reset."""

    posts: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """POSTs by the key of the answer that tells the prompt: ``facts``, ``matches``, …"""
    answered: Counter[str] = field(default_factory=Counter)
    """Whole Messages by sha256 of the canonical body."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Status of every response; faults without one by their kind."""
    in_flight: int = 0
    max_in_flight: int = 0
    connections: int = 0

    def as_json(self) -> Json:
        """Return the counters as ``GET /control`` shows them."""
        return {
            "posts": self.posts,
            "asked": dict(self.asked),
            "answered": dict(self.answered),
            "statuses": dict(self.statuses),
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "connections": self.connections,
        }


class Server:
    """Settings, counters, and the handling of one connection."""

    def __init__(
        self, latency_s: float, faults: Sequence[Fault], headers: Mapping[str, str]
    ) -> None:
        """Set up; ``serve`` listens."""
        self.latency_s = latency_s
        self.faults = tuple(faults)
        self.headers = headers
        self.quota: SimulatedQuota | None = None
        self.clock_ahead_s: float | None = None
        self.counts = Counts()
        self.batches = Batches()
        self._open_connections = 0
        self._first_post_at_s: float | None = None

    async def serve(self, port: int, ready: Callable[[int], None]) -> None:
        """Listen on 127.0.0.1 until cancelled; ``ready`` is told the port."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", port, backlog=1024)
        ready(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts.connections += 1
        self._open_connections += 1
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._open_connections -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split("\r\n", 1)[0].split(" ", 2)
        pairs = (line.partition(":") for line in head.split("\r\n")[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = int(headers["content-length"]) if "content-length" in headers else 0
        content = await reader.readexactly(length)
        if path == "/control":
            if method == "POST":
                self._reset(json.loads(content))
            # The connection that asks is not counted.
            shown = self.counts.as_json() | {"open_connections": self._open_connections - 1}
            await _respond(writer, 200, shown, {})
            return True
        if self.batches.serves(path):
            return await self.batches.exchange((reader, writer), method, path, headers, content)
        counts = self.counts  # a reset while this call is under way gets counters of its own
        counts.in_flight += 1
        counts.max_in_flight = max(counts.max_in_flight, counts.in_flight)
        try:
            return await self._message(
                (reader, writer), f"{method} {path}", headers, content, counts
            )
        finally:
            counts.in_flight -= 1

    def _reset(self, settings: Json) -> None:
        self.latency_s = float(settings["latency_s"])
        self.faults = tuple(fault_of(each) for each in settings["faults"])
        self.headers = dict(settings["headers"])
        quota = settings["quota"]
        self.quota = None if quota is None else SimulatedQuota(**quota)
        self.clock_ahead_s = settings["clock_ahead_s"]
        self.counts = Counts()
        self._first_post_at_s = None

    async def _message(
        self,
        streams: Streams,
        target: str,
        headers: dict[str, str],
        content: bytes,
        counts: Counts,
    ) -> bool:
        counts.posts += 1
        asked = _asked_of(content)
        counts.asked[asked] += 1
        fault, told = self._admit(counts.posts, asked)
        await asyncio.sleep(self.latency_s)
        try:
            status, answer = self._answer(target, headers, content, fault)
        except (BadRequestError, KeyError, TypeError, ValueError) as error:
            words = f"{type(error).__name__}: {error}"
            status, answer = 400, error_of("invalid_request_error", words)
        if fault in UNANSWERED:
            counts.statuses[fault] += 1
            await misbehave(streams, fault, json.dumps(answer).encode())
            return False
        is_answer = status == 200 and fault != "no_message"
        counts.statuses[str(status) if is_answer or status != 200 else fault] += 1
        if status != 200:
            told = self._headers_of_error(status) | told
        await _respond(streams[1], status, answer, told, form=fault)
        if is_answer:
            counts.answered[body_hash(json.loads(content))] += 1
        return fault != "closing"

    def _admit(self, number: int, asked: str) -> tuple[str, dict[str, str]]:
        """Return the fault that a POST meets, and the headers that any answer to it has."""
        now_s = time.monotonic()
        if self._first_post_at_s is None:
            self._first_post_at_s = now_s
        since_s = now_s - self._first_post_at_s
        firing = (each.kind for each in self.faults if each.fires(number, asked, since_s))
        fault = next(firing, "none")
        told = {}
        if self.clock_ahead_s is not None:
            told["date"] = format_datetime(self._clock(), usegmt=True)
        if self.quota is not None:
            admitted = self.quota.admit(now_s)
            told |= self.quota.headers(now_s, self._clock(), admitted=admitted)
            fault = fault if admitted else "http_429"
        return fault, told

    def _clock(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.clock_ahead_s or 0.0)

    def _headers_of_error(self, status: int) -> dict[str, str]:
        found = {}
        for name, value in self.headers.items():
            only, slash, rest = name.partition("/")
            if slash and only != str(status):
                continue
            text = value
            if value.startswith("@date"):
                then = self._clock() + timedelta(seconds=float(value.removeprefix("@date") or 0))
                text = format_datetime(then, usegmt=True)
            found[rest if slash else name] = text
        return found

    def _answer(
        self, target: str, headers: dict[str, str], content: bytes, fault: str
    ) -> tuple[int, Json]:
        if target != "POST /v1/messages":
            return 404, error_of("not_found_error", f"nothing at {target}")
        if "x-api-key" not in headers and "authorization" not in headers:
            return 401, error_of("authentication_error", "no key")
        if fault == "spend_cap":
            code = "enforced_spend_limit_reached"
            return 429, error_of("rate_limit_error", "It is all spent.", error_code=code)
        if fault.startswith("http_"):
            return int(fault[5:]), error_of("error_on_demand", f"as asked for: {fault}")
        return 200, message_to(json.loads(content), fault)


def _asked_of(content: bytes) -> str:
    try:
        return asked_key(json.loads(content))
    except (BadRequestError, KeyError, TypeError, ValueError):
        return "unknown"  # what is wrong with it, the answer says


async def _respond(
    writer: asyncio.StreamWriter,
    status: int,
    body: Json,
    headers: Mapping[str, str],
    *,
    form: str = "plain",
) -> None:
    content = json.dumps(body, ensure_ascii=False).encode()
    described, sent = dress(form if form in DRESSED else "plain", content)
    lines = [
        f"HTTP/1.1 {status} Status",
        "content-type: application/json",
        *described,
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + sent)
    await writer.drain()


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--latency-s", type=float, default=0.0)
    parser.add_argument("--fault", type=fault_of, action="append", default=[], metavar="KIND:WHEN")
    parser.add_argument("--header", action="append", default=[], metavar="NAME:VALUE")
    options = parser.parse_args()
    pairs = (line.partition(":") for line in options.header)
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    server = Server(options.latency_s, options.fault, headers)

    def ready(port: int) -> None:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve(options.port, ready))


if __name__ == "__main__":
    main()

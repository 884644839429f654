"""A local server that speaks ``POST /v1/messages``, answers validly, and fails on demand.

    python tests/messages_api/server.py --port 0 --latency-s 0.2 --fault overloaded:0.1

prints its port on the first line. Standard library only; one process, one event loop.

Faults, each ``KIND:WHEN``. WHEN counts POSTs from 1: ``0.1`` every tenth, ``3-5`` the third to the
fifth, ``3-`` from the third on. ``KIND@KEY:WHEN``, of those, only the ones whose answer has the key
``KEY`` (``wrong_schema@matches:1``). KIND:

    overloaded (529), rate_limited (429), http_<status>      an error, with the ``--header`` lines
    outage, silent, dripping                                 connection closed; no answer; no end
    truncated, refusal, fenced, non_json, wrong_schema       an answer that is no judgement
    other_model, snapshot, later_snapshot, no_message        not what was asked for

``GET /control`` gives the counters, ``POST /control`` sets ``{"latency_s", "faults", "headers"}``
anew and starts them at zero.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

if not __package__:  # started as a file, from wherever
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.messages_api.answers import (
    ANSWER_KEYS,
    BadRequestError,
    Json,
    answer_to,
    asked_key,
)

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_ALIASES = {"overloaded": "http_529", "rate_limited": "http_429"}
_KINDS = frozenset(
    [
        *("outage", "silent", "dripping", "truncated", "refusal", "fenced", "non_json"),
        *("wrong_schema", "other_model", "snapshot", "later_snapshot", "no_message"),
    ]
)
_SUFFIXES = {"other_model": "-other", "snapshot": "-20260101", "later_snapshot": "-20260601"}


@dataclass(frozen=True)
class Fault:
    """One way to fail, and on which POSTs."""

    kind: str
    when: str
    asked: str | None = None
    """Only where the answer is to have this key; None: whatever is asked."""

    def fires(self, number: int, asked: str | None = None) -> bool:
        """Tell whether it is the turn of POST ``number``, from 1, which asks for ``asked``."""
        if self.asked not in {None, asked}:
            return False
        if "-" not in self.when:
            return number % round(1 / float(self.when)) == 0
        first, _, last = self.when.partition("-")
        return int(first) <= number <= (int(last) if last else sys.maxsize)


def fault_of(text: str) -> Fault:
    """Read ``KIND:WHEN`` or ``KIND@KEY:WHEN``.

    Raises:
        ValueError: it is none.
    """
    kind, _, when = text.partition(":")
    kind, at, asked = kind.partition("@")
    kind = _ALIASES.get(kind, kind)
    if kind not in _KINDS and not re.fullmatch(r"http_\d{3}", kind):
        raise ValueError(f"unknown fault {kind!r}")
    if at and asked not in ANSWER_KEYS:
        raise ValueError(f"fault {text!r} waits for an answer that no prompt asks for")
    if not re.fullmatch(r"\d+-\d*", when) and not 0 < float(when) <= 1:
        raise ValueError(f"fault {text!r} fires neither at a share nor in a range")
    return Fault(kind, when, asked or None)


@dataclass
class Counts:
    """What happened since the last reset."""

    posts: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """POSTs by the key of the answer that tells the prompt: ``facts``, ``matches``, …"""
    answered: Counter[str] = field(default_factory=Counter)
    """Whole 200 answers by sha256 of the canonical body."""
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

    def __init__(self, latency_s: float, faults: Sequence[Fault], headers: dict[str, str]) -> None:
        """Set up; ``serve`` listens."""
        self.latency_s = latency_s
        self.faults = tuple(faults)
        self.headers = headers
        self.counts = Counts()

    async def serve(self, port: int, ready: Callable[[int], None]) -> None:
        """Listen on 127.0.0.1 until cancelled; ``ready`` is told the port."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", port, backlog=1024)
        ready(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self._exchange(reader, writer):
                pass
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
            await _respond(writer, 200, self.counts.as_json(), {})
            return True
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
        self.counts = Counts()

    async def _message(
        self,
        streams: _Streams,
        target: str,
        headers: dict[str, str],
        content: bytes,
        counts: Counts,
    ) -> bool:
        counts.posts += 1
        number = counts.posts
        asked = _asked_of(content)
        counts.asked[asked] += 1
        fault = next((each.kind for each in self.faults if each.fires(number, asked)), "none")
        await asyncio.sleep(self.latency_s)
        if fault in {"outage", "silent", "dripping"}:
            counts.statuses[fault] += 1
            return await _no_answer(streams, fault)
        try:
            status, answer = self._answer(target, headers, content, fault)
        except (BadRequestError, KeyError, TypeError, ValueError) as error:
            status, answer = (
                400,
                _error("invalid_request_error", f"{type(error).__name__}: {error}"),
            )
        counts.statuses[str(status)] += 1
        await _respond(streams[1], status, answer, self.headers if status != 200 else {})
        if status == 200:
            counts.answered[body_hash(json.loads(content))] += 1
        return True

    def _answer(
        self, target: str, headers: dict[str, str], content: bytes, fault: str
    ) -> tuple[int, Json]:
        if target != "POST /v1/messages":
            return 404, _error("not_found_error", f"nothing at {target}")
        if "x-api-key" not in headers and "authorization" not in headers:
            return 401, _error("authentication_error", "no key")
        if fault.startswith("http_"):
            return int(fault[5:]), _error("error_on_demand", f"as asked for: {fault}")
        if fault == "no_message":
            return 200, {"hello": "there"}
        return 200, message_to(json.loads(content), fault)


def _asked_of(content: bytes) -> str:
    try:
        return asked_key(json.loads(content))
    except (BadRequestError, KeyError, TypeError, ValueError):
        return "unknown"  # what is wrong with it, the answer says


def message_to(body: Json, fault: str) -> Json:
    """Return the Message that answers ``body``."""
    text = json.dumps(answer_to(body), ensure_ascii=False)
    dressed = {
        "truncated": text[: len(text) // 2],
        "refusal": "",
        "fenced": f"```json\n{text}\n```",
        "non_json": "I would say that it is a good one.",
        "wrong_schema": json.dumps({"verdict": "good"}),
    }
    stop_reasons = {"truncated": "max_tokens", "refusal": "refusal"}
    said = dressed.get(fault, text)
    model = body["model"] + (_SUFFIXES.get(fault, ""))
    return {
        "id": f"msg_{body_hash(body)[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": said}] if said else [],
        "stop_reason": stop_reasons.get(fault, "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": len(body["messages"][0]["content"]) // 4,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": len(body["system"][0]["text"]) // 4,
            "output_tokens": len(said) // 4,
        },
    }


def body_hash(body: Json) -> str:
    """Return sha256 of the body in canonical form: 64 hex digits."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


async def _respond(
    writer: asyncio.StreamWriter, status: int, body: Json, headers: dict[str, str]
) -> None:
    content = json.dumps(body, ensure_ascii=False).encode()
    lines = [
        f"HTTP/1.1 {status} Status",
        "content-type: application/json",
        f"content-length: {len(content)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content)
    await writer.drain()


async def _no_answer(streams: _Streams, fault: str) -> bool:
    reader, writer = streams
    if fault == "dripping":
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
        writer.write(b"content-length: 1000000\r\n\r\n")
    # Until the client has gone.
    while fault != "outage" and not reader.at_eof():
        if fault == "dripping":
            writer.write(b" ")
            await writer.drain()
        await asyncio.sleep(0.02)
    return False


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

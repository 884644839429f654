"""The batches endpoints of the local server: accepts, answers, lists and fails on demand.

``POST /control/batches`` sets ``{"faults", "ends_after_polls", "forget"}`` and starts the counters
at zero; ``GET /control/batches`` gives them. ``forget``: whether accepted batches go.
``ends_after_polls``: how often a batch is looked at before it says that it has ended.

Faults, each ``KIND:WHEN`` with WHEN as in ``server.py``, here ``1-1`` for the first alone. Of
requests, counted from 1 over all batches:

    invalid, api_error, expired, canceled, missing       no answer
    says_key                                             as invalid, and says the key back
    answers_key                                          an answer that says the key back
    doubled, contradicted, stranger, unreadable          a line more
    truncated, refusal, other_model, …                   an answer that is no judgement (``SPOILT``)

Of exchanges, each counted by itself; EXCHANGE is ``submit``, ``list``, ``poll`` or ``results``:

    EXCHANGE.http_<status>     an error, and nothing happens
    EXCHANGE.outage            closed without an answer, and nothing happens
    submit.lost                accepted, and closed without an answer
    poll.archived              it has ended, and its results are kept no longer
    poll.moved                 results_url is here, at an address of its own (exchange ``moved``)
    list.stuck                 there are more, and they are never shown
    results.cut_off            half of them, then closed
    results.silent             half of them, and then nothing more
"""

import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import IO
from urllib.parse import parse_qs, urlsplit

from tests.messages_api.answers import BadRequestError, Json
from tests.messages_api.faults import Fault, Streams
from tests.messages_api.messages import SPOILT, error_of, message_to

PATH = "/v1/messages/batches"
CONTROL = "/control/batches"
_OPENING = '{"requests":['
_OF_REQUESTS = SPOILT | {
    *("says_key", "invalid", "api_error", "expired", "canceled", "missing"),
    *("answers_key", "doubled", "contradicted", "stranger", "unreadable"),
}
_OF_EXCHANGES = re.compile(
    r"(submit|list|poll|results)\.(http_\d{3}|outage)|submit\.lost|results\.(cut_off|silent)"
    r"|poll\.(archived|moved)|list\.stuck"
)
_PIECE_BYTES = 1 << 16


def batch_fault_of(text: str) -> Fault:
    """Read ``KIND:WHEN``.

    Raises:
        ValueError: it is none.
    """
    kind, _, when = text.partition(":")
    if kind not in _OF_REQUESTS and not _OF_EXCHANGES.fullmatch(kind):
        raise ValueError(f"unknown fault {kind!r}")
    if not re.fullmatch(r"\d+-\d*", when) and not 0 < float(when) <= 1:
        raise ValueError(f"fault {text!r} fires neither at a share nor in a range")
    return Fault(kind, when)


@dataclass
class _Batch:
    id: str
    created_at: datetime
    results: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    counts: Counter[str] = field(default_factory=Counter)
    polls: int = 0
    is_answered: bool = False


@dataclass
class _Counters:
    exchanges: Counter[str] = field(default_factory=Counter)
    submitted: Counter[str] = field(default_factory=Counter)
    """How often each custom id came in an accepted batch."""
    results: Counter[str] = field(default_factory=Counter)
    """Requests by the type of their result."""


class Batches:
    """Every batch since it was last told to forget."""

    def __init__(self) -> None:
        """Start empty and without faults."""
        self._batches: dict[str, _Batch] = {}
        self._faults: tuple[Fault, ...] = ()
        self._ends_after_polls = 0
        self._counters = _Counters()
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def serves(self, path: str) -> bool:
        """Tell whether a path is one of these endpoints."""
        return path.startswith((PATH, CONTROL))

    async def exchange(
        self, streams: Streams, method: str, path: str, headers: dict[str, str], content: bytes
    ) -> bool:
        """Answer, or not; returns whether the connection stays."""
        writer = streams[1]
        if path == CONTROL:
            if method == "POST":
                self._reset(json.loads(content))
            await _respond(writer, 200, self._shown())
            return True
        name, batch_id = _exchange_of(method, urlsplit(path).path)
        fault = self._fault_of(name)
        if fault == "outage":
            return False
        refusal = _refusal(fault, headers)
        if refusal is not None:
            await _respond(writer, *refusal)
            return True
        batch = self._batches.get(batch_id)
        if name == "submit":
            key = headers["authorization" if "authorization" in headers else "x-api-key"]
            return await self._submit(writer, content, fault, key)
        if name in {"results", "moved"} and batch is not None:
            return await _send_results(streams, batch, fault)
        if name == "list":
            answer = 200, self._page(parse_qs(urlsplit(path).query), fault)
        elif batch is None:
            answer = 404, error_of("not_found_error", f"no batch {batch_id!r}")
        else:
            batch.polls += 1
            answer = 200, self._state(batch) | _changed(fault, headers["host"], batch.id)
        await _respond(writer, *answer)
        return True

    def _fault_of(self, name: str) -> str:
        """Count an exchange, and return what it meets: what stands behind the dot, or nothing."""
        self._counters.exchanges[name] += 1
        number = self._counters.exchanges[name]
        kinds = (each.kind for each in self._faults if each.fires(number))
        return next((kind for kind in kinds if kind.startswith(f"{name}.")), "").partition(".")[2]

    def _reset(self, settings: Json) -> None:
        self._faults = tuple(batch_fault_of(each) for each in settings["faults"])
        self._ends_after_polls = int(settings["ends_after_polls"])
        if settings["forget"]:
            self._batches = {}
        self._counters = _Counters()
        self._number = 0

    def _shown(self) -> Json:
        counters = self._counters
        return {
            "batches": len(self._batches),
            "exchanges": dict(counters.exchanges),
            "requests": sum(counters.submitted.values()),
            "distinct": len(counters.submitted),
            "results": dict(counters.results),
        }

    async def _submit(
        self, writer: asyncio.StreamWriter, content: bytes, fault: str, key: str
    ) -> bool:
        text = content.decode()
        try:
            requests = list(_ids_in(text))
        except (ValueError, KeyError, TypeError) as error:
            words = f"{type(error).__name__}: {error}"
            await _respond(writer, 400, error_of("invalid_request_error", words))
            return True
        if not requests or len(set(requests)) < len(requests):
            words = "requests: found none, or a custom_id twice"
            await _respond(writer, 400, error_of("invalid_request_error", words))
            return True
        batch = _Batch(f"msgbatch_{len(self._batches) + 1:04d}", datetime.now(UTC))
        self._batches[batch.id] = batch
        self._counters.submitted.update(requests)
        batch.counts["processing"] = len(requests)
        task = asyncio.create_task(self._answer(batch, text, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if fault == "lost":
            return False
        await _respond(writer, 200, self._state(batch))
        return True

    async def _answer(self, batch: _Batch, text: str, key: str) -> None:
        counts: Counter[str] = Counter()
        held: list[bytes] = []
        for request in _requests_in(text):
            self._number += 1
            fault = next(
                (
                    each.kind
                    for each in self._faults
                    if each.kind in _OF_REQUESTS and each.fires(self._number)
                ),
                "none",
            )
            kind, lines = _results_of(request, fault, key)
            counts[kind] += 1
            held += lines
            if len(held) > 7:  # results come in no order that can be relied on
                batch.results.write(b"".join(reversed(held)))
                held = []
                await asyncio.sleep(0)
        batch.results.write(b"".join(reversed(held)))
        batch.results.flush()
        batch.counts = counts
        self._counters.results.update(counts)
        batch.is_answered = True

    def _state(self, batch: _Batch) -> Json:
        ended = batch.is_answered and batch.polls > self._ends_after_polls
        total = sum(batch.counts.values())
        counts = batch.counts if ended else Counter(processing=total)
        kinds = ("processing", "succeeded", "errored", "canceled", "expired")
        expires_at = batch.created_at + timedelta(days=1)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {kind: counts[kind] for kind in kinds},
            "created_at": batch.created_at.isoformat(),
            "expires_at": expires_at.isoformat(),
            "ended_at": datetime.now(UTC).isoformat() if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            # Somewhere else, where the key must not be sent.
            "results_url": f"http://192.0.2.1/results/{batch.id}" if ended else None,
        }

    def _page(self, query: dict[str, list[str]], fault: str) -> Json:
        newest_first = list(reversed(self._batches.values()))
        if "after_id" in query and fault != "stuck":
            ids = [batch.id for batch in newest_first]
            newest_first = newest_first[ids.index(query["after_id"][0]) + 1 :]
        limit = int(query["limit"][0]) if "limit" in query else 20
        shown = [self._state(batch) for batch in newest_first[:limit]]
        return {
            "data": shown,
            "has_more": len(newest_first) > limit or fault == "stuck",
            "first_id": shown[0]["id"] if shown else None,
            "last_id": shown[-1]["id"] if shown else None,
        }


def _changed(fault: str, host: str, batch_id: str) -> Json:
    """Return what a fault makes of the state of a batch."""
    if fault == "archived":
        now = datetime.now(UTC).isoformat()
        return {"processing_status": "ended", "archived_at": now, "results_url": None}
    if fault == "moved":
        return {"results_url": f"http://{host}{PATH}/moved/{batch_id}"}
    return {}


def _refusal(fault: str, headers: dict[str, str]) -> tuple[int, Json] | None:
    if fault.startswith("http_"):
        return int(fault[5:]), error_of("error_on_demand", f"as asked for: {fault}")
    if "x-api-key" not in headers and "authorization" not in headers:
        return 401, error_of("authentication_error", "no key")
    return None


def _exchange_of(method: str, path: str) -> tuple[str, str]:
    batch_id = path.removeprefix(PATH).strip("/")
    if method == "POST" and not batch_id:
        return "submit", ""
    if method == "GET" and not batch_id:
        return "list", ""
    if method == "GET" and batch_id.startswith("moved/"):
        return "moved", batch_id.removeprefix("moved/")
    if method == "GET" and batch_id.endswith("/results"):
        return "results", batch_id.removesuffix("/results")
    return ("poll", batch_id) if method == "GET" else ("unknown", "")


def _requests_in(text: str) -> Iterator[Json]:
    """Yield the requests of a body one by one: all at once they would not fit into memory."""
    if not text.startswith(_OPENING):
        raise ValueError("no list of requests")
    decoder = json.JSONDecoder()
    at = len(_OPENING)
    while text[at] != "]":
        request, at = decoder.raw_decode(text, at)
        yield request
        at += text[at] == ","
    if text[at:] != "]}":
        raise ValueError("more than a list of requests")


def _ids_in(text: str) -> Iterator[str]:
    for request in _requests_in(text):
        custom_id = request["custom_id"]
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", custom_id) or set(request) != {
            "custom_id",
            "params",
        }:
            raise ValueError(f"no request: {str(request)[:80]}")
        yield custom_id


def _results_of(request: Json, fault: str, key: str) -> tuple[str, list[bytes]]:
    """Return the type of a request's result, and the lines that say so."""
    custom_id, params = request["custom_id"], request["params"]
    if fault == "missing":
        return "errored", []
    if fault in {"expired", "canceled"}:
        return fault, [_line(custom_id, {"type": fault})]
    try:
        message = message_to(params, fault)
    except (BadRequestError, KeyError, TypeError, ValueError) as error:
        return "errored", [_errored(custom_id, "invalid_request_error", str(error))]
    errors = {
        "says_key": ("invalid_request_error", f"not with {key}"),
        "invalid": ("invalid_request_error", "max_tokens: too many"),
        "api_error": ("api_error", "Internal server error"),
    }
    if fault in errors:
        return "errored", [_errored(custom_id, *errors[fault])]
    if fault == "answers_key":
        message["content"] = [{"type": "text", "text": f"with {key}"}]
    line = _line(custom_id, {"type": "succeeded", "message": message})
    more = {
        "doubled": [line],
        "contradicted": [_line(custom_id, {"type": "succeeded", "message": message | {"id": "x"}})],
        "stranger": [_line("f" * 64, {"type": "succeeded", "message": message})],
        "unreadable": [b'{"custom_id": "' + custom_id.encode() + b'", "resu\n'],
    }
    return "succeeded", [line, *more.get(fault, [])]


def _errored(custom_id: str, kind: str, words: str) -> bytes:
    error = error_of(kind, words) | {"request_id": None}
    return _line(custom_id, {"type": "errored", "error": error})


def _line(custom_id: str, result: Json) -> bytes:
    return json.dumps({"custom_id": custom_id, "result": result}).encode() + b"\n"


async def _send_results(streams: Streams, batch: _Batch, fault: str) -> bool:
    reader, writer = streams
    length = batch.results.seek(0, 2)
    batch.results.seek(0)
    head = f"HTTP/1.1 200 Status\r\ncontent-type: application/x-jsonl\r\ncontent-length: {length}"
    writer.write(head.encode() + b"\r\n\r\n")
    left = length // 2 if fault else length
    while left > 0 and (piece := batch.results.read(min(left, _PIECE_BYTES))):
        writer.write(piece)
        left -= len(piece)
        await writer.drain()
    if fault == "silent":
        await reader.read()  # until the client has gone
    return not fault


async def _respond(writer: asyncio.StreamWriter, status: int, body: Json) -> None:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n"
    writer.write(head.encode() + f"content-length: {len(content)}\r\n\r\n".encode() + content)
    await writer.drain()

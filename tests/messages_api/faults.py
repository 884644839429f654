"""The ways to fail on demand: when each one fires, and what it does on the wire."""

import asyncio
import gzip
import re
import socket
import struct
import sys
from dataclasses import dataclass

from tests.messages_api.answers import ANSWER_KEYS
from tests.messages_api.messages import SPOILT

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_ALIASES = {"overloaded": "http_529", "rate_limited": "http_429"}
UNANSWERED = frozenset(
    [
        *("outage", "reset", "garbage", "silent", "dripping", "dripping_head"),
        *("headers_only", "half_body", "cut_off", "broken_gzip"),
    ]
)
"""No whole answer: see the list in ``server.py``."""
DRESSED = frozenset({"closing", "chunked", "gzip"})
"""A good answer in another form."""
_KINDS = SPOILT | UNANSWERED | DRESSED | {"spend_cap"}
_DRIP_EVERY_S = 0.02


@dataclass(frozen=True)
class Fault:
    """One way to fail, and on which POSTs."""

    kind: str
    when: str
    asked: str | None = None
    """Only where the answer is to have this key; None: whatever is asked."""

    def fires(self, number: int, asked: str | None = None, since_s: float = 0.0) -> bool:
        """Tell whether it is the turn of a POST.

        Args:
            number: of the POST, from 1.
            asked: key of the answer that it asks for.
            since_s: seconds since the first POST.
        """
        if self.asked not in {None, asked}:
            return False
        if "-" not in self.when:
            return number % round(1 / float(self.when)) == 0
        first, _, last = self.when.partition("-")
        if first.endswith("s"):
            return float(first[:-1]) <= since_s < (float(last[:-1]) if last else sys.maxsize)
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
    in_range = re.fullmatch(r"\d+-\d*|\d+(\.\d+)?s-(\d+(\.\d+)?s)?", when)
    if not in_range and not 0 < float(when) <= 1:
        raise ValueError(f"fault {text!r} fires neither at a share nor in a range")
    return Fault(kind, when, asked or None)


async def misbehave(streams: Streams, kind: str, answer: bytes) -> None:
    """Do one of ``UNANSWERED``; ``answer`` is the body of the answer that is not given."""
    reader, writer = streams
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    length = f"content-length: {len(answer)}\r\n\r\n".encode()
    first = {
        "dripping": head + b"content-length: 1000000\r\n\r\n",
        "dripping_head": head + b"x-drip: ",
        "headers_only": head + length,
        "half_body": head + length + answer[: len(answer) // 2],
        "cut_off": head + length + answer[: len(answer) // 2],
        "broken_gzip": head + b"content-encoding: gzip\r\n" + length + answer,
        "garbage": b"\x16\x03\x01 this is not the protocol that you look for\r\n\r\n",
    }
    if kind in first:
        writer.write(first[kind])
        await writer.drain()
    if kind in {"outage", "cut_off", "garbage", "broken_gzip"}:
        return
    if kind == "reset":
        # With a linger time of 0 the connection is reset and not closed.
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        return
    while not reader.at_eof():  # until the client has gone
        if kind in {"dripping", "dripping_head"}:
            writer.write(b" ")
            await writer.drain()
        await asyncio.sleep(_DRIP_EVERY_S)


def dress(kind: str, content: bytes) -> tuple[list[str], bytes]:
    """Return the header lines of a body and the body as it is sent; ``kind``: see ``DRESSED``."""
    if kind == "chunked":
        half = len(content) // 2
        pieces = [content[:half], content[half:], b""]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        return ["transfer-encoding: chunked"], body
    if kind == "gzip":
        content = gzip.compress(content)
    encoding = ["content-encoding: gzip"] if kind == "gzip" else []
    return [f"content-length: {len(content)}", *encoding], content

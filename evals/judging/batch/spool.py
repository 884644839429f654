"""The requests of one round, on disk and not in memory: a hundred thousand bodies are a gigabyte.

Each batch lies in a file that has no name, so that no conversation is left behind whatever ends the
process.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from evals.errors import StoreError
from evals.files import make_private
from evals.judging.request import JudgeRequest

MAX_REQUESTS = 100_000
"""In one batch, by the API's own limit."""
MAX_BYTES = 256_000_000
"""Of one batch's body: the API's 256 MB, read the strict way."""
_OPENING, _SEPARATOR, _CLOSING = b'{"requests":[', b",", b"]}"
_PIECE_BYTES = 1 << 20


def request_line(request: JudgeRequest) -> bytes:
    """Return a request as the Batches API takes it: one line of JSON, without a line break."""
    return b'{"custom_id":"%b","params":%b}' % (request.request_hash.encode(), request.body)


class Room:
    """How much one batch has room for."""

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        """Take the limits of one batch; ``start`` begins it."""
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._requests = 0
        self._length_bytes = 0

    def start(self, line_bytes: int) -> None:
        """Begin a batch with a request, however long it is: what is too long the server says."""
        self._requests = 1
        self._length_bytes = len(_OPENING) + line_bytes + len(_CLOSING)

    def take(self, line_bytes: int) -> bool:
        """Take a request in, or tell that it needs a batch of its own."""
        grown = self._length_bytes + len(_SEPARATOR) + line_bytes
        if self._requests >= self._max_requests or grown > self._max_bytes:
            return False
        self._requests += 1
        self._length_bytes = grown
        return True


class SpooledBatch:
    """The body of one batch to come."""

    def __init__(self, folder: Path, model: str) -> None:
        """Make the file.

        Args:
            folder: on the disk that has room for it.
            model: asked by every request in it.

        Raises:
            OSError: the file cannot be made.
        """
        self.model = model
        self.hashes: list[str] = []
        self.length_bytes = len(_OPENING) + len(_CLOSING)
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  kept open
        self._file.write(_OPENING)

    def add(self, request_hash: str, line: bytes) -> None:
        """Append a request.

        Raises:
            OSError: it cannot be written.
        """
        separator = _SEPARATOR if self.hashes else b""
        self._file.write(separator + line)
        self.length_bytes += len(separator) + len(line)
        self.hashes.append(request_hash)

    def seal(self) -> None:
        """End the body; nothing can be added any more.

        Raises:
            OSError: it cannot be written.
        """
        self._file.write(_CLOSING)
        self._file.flush()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the sealed body from its beginning, ``length_bytes`` in all."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE_BYTES):
            yield piece
            await asyncio.sleep(0)  # whoever else has work is not kept waiting

    def close(self) -> None:
        """Delete the file; may be called twice."""
        with suppress(OSError):  # a full disk takes no more of what is thrown away here
            self._file.close()


class Spool:
    """The batches of one round, in the order in which their requests came."""

    def __init__(
        self, folder: Path, *, max_requests: int = MAX_REQUESTS, max_bytes: int = MAX_BYTES
    ) -> None:
        """Start empty.

        Args:
            folder: where the unnamed files lie; on the disk that has room for them.
            max_requests: in one batch.
            max_bytes: of one batch's body.
        """
        self._folder = folder
        self._room = Room(max_requests, max_bytes)
        self._batches: list[SpooledBatch] = []
        self._hashes: set[str] = set()

    def __contains__(self, request_hash: str) -> bool:
        return request_hash in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, request: JudgeRequest) -> None:
        """Append a request that is not in it yet.

        Raises:
            StoreError: it cannot be written.
        """
        line = request_line(request)
        try:
            self._batch_for(request.settings.model, line).add(request.request_hash, line)
        except OSError as error:
            raise self._unwritable(error) from error
        self._hashes.add(request.request_hash)

    def sealed(self) -> list[SpooledBatch]:
        """Return the batches, to be closed by whoever takes them, and start anew.

        Raises:
            StoreError: what was added cannot all be written.
        """
        batches = self._batches
        try:
            for batch in batches:
                batch.seal()
        except OSError as error:
            self.close()
            raise self._unwritable(error) from error
        self._batches, self._hashes = [], set()
        return batches

    def close(self) -> None:
        """Delete what was added and not taken."""
        for batch in self._batches:
            batch.close()
        self._batches, self._hashes = [], set()

    def _batch_for(self, model: str, line: bytes) -> SpooledBatch:
        last = self._batches[-1] if self._batches else None
        if last is None or last.model != model or not self._room.take(len(line)):
            make_private(self._folder)
            last = SpooledBatch(self._folder, model)
            self._batches.append(last)
            self._room.start(len(line))
        return last

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"{self._folder}, requests of a batch",
            str(error),
            "room for the requests of a round, beside the answer store",
            "Free space, or choose another --store.",
        )

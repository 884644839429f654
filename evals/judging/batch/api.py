"""One exchange with the Batches API at a time, under a deadline. Knows nothing of retries."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from evals.judging.batch.spool import SpooledBatch
from evals.judging.batch.wire import BatchPage, BatchState, NotOfTheApiError, ShapeT, read
from evals.judging.sdk import ApiClient
from evals.judging.transport import AttemptError, Reply

_PATH = "/v1/messages/batches"
_PAGE = 100
_SLOWEST_BYTES_A_SECOND = 250_000
"""Of an upload: below that it counts as hanging."""
_LONGEST_LINE_BYTES = 32_000_000
"""Of results: far above any answer. What never ends a line must not fill the memory."""
_OK = 200


class BatchesApi:
    """The four calls that a batch run makes. Used on one event loop."""

    def __init__(self, client: ApiClient, attempt_timeout_s: float) -> None:
        """Take the client, which ``aclose`` closes.

        Args:
            client: sends.
            attempt_timeout_s: hard deadline of one exchange. An upload may take longer by what its
                length explains; results may take as long as something of them goes on coming.
        """
        self._client = client
        self._timeout_s = attempt_timeout_s
        self.exchanges = 0
        """HTTP exchanges begun."""

    @property
    def server(self) -> str:
        """Address of the server, without credentials."""
        return self._client.server

    def hide(self, text: str) -> str:
        """Return what the server said without the key."""
        return self._client.hide(text)

    async def create(self, batch: SpooledBatch) -> BatchState:
        """Send a batch, and return what the server made of it.

        Raises:
            AttemptError: it did not say.
        """
        sending = self._client.post(_PATH, batch.pieces(), length_bytes=batch.length_bytes)
        timeout_s = self._timeout_s + batch.length_bytes / _SLOWEST_BYTES_A_SECOND
        return _read(BatchState, await self._exchange(sending, timeout_s))

    async def state(self, batch_id: str) -> BatchState:
        """Return how far a batch is.

        Raises:
            AttemptError: the server did not say; with status 404 it knows no such batch.
        """
        reply = await self._exchange(self._client.get(f"{_PATH}/{batch_id}"), self._timeout_s)
        return _read(BatchState, reply)

    async def created_since(self, at: datetime) -> list[BatchState]:
        """Return the batches that the server has accepted since ``at``, newest first.

        Raises:
            AttemptError: the server did not say.
        """
        found: list[BatchState] = []
        after = ""
        while True:
            path = f"{_PATH}?limit={_PAGE}{after}"
            page = _read(BatchPage, await self._exchange(self._client.get(path), self._timeout_s))
            found += [state for state in page.data if state.created_at >= at]
            older = any(state.created_at < at for state in page.data)
            if older or not page.has_more or not page.data:
                return found
            last, after = after, f"&after_id={page.data[-1].id}"
            if after == last:
                what = "a list of batches that does not go on where it was asked to"
                raise AttemptError(what, "retry", status=_OK)

    async def results(self, state: BatchState) -> AsyncGenerator[bytes]:
        """Yield the result lines of a batch that has ended, without line breaks.

        Raises:
            AttemptError: there are none, or they broke off.
        """
        self.exchanges += 1
        rest: list[bytes] = []
        rest_bytes = 0
        async with aclosing(self._client.stream(_address_of(state, self.server))) as pieces:
            while True:
                async with self._deadline(self._timeout_s):
                    piece = await anext(pieces, None)
                if piece is None:
                    break
                first, *others = piece.split(b"\n")
                rest.append(first)
                rest_bytes += len(first)
                if rest_bytes > _LONGEST_LINE_BYTES:
                    what = f"a result line of more than {_LONGEST_LINE_BYTES} bytes"
                    raise AttemptError(what, "retry")
                if not others:
                    continue
                for line in (b"".join(rest), *others[:-1]):
                    if line.strip():
                        yield line
                rest, rest_bytes = [others[-1]], len(others[-1])
        last = b"".join(rest)
        if last.strip():
            yield last

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _exchange(self, sending: Coroutine[Any, Any, Reply], timeout_s: float) -> Reply:
        self.exchanges += 1
        async with self._deadline(timeout_s):
            return await sending

    @asynccontextmanager
    async def _deadline(self, timeout_s: float) -> AsyncIterator[None]:
        deadline = asyncio.timeout(timeout_s)
        try:
            async with deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            what = f"no whole answer within {timeout_s:g} s"
            raise AttemptError(what, "retry", timed_out=True) from None


def _address_of(state: BatchState, server: str) -> str:
    """Return where the results are: where the server says, as long as that is at the server itself.

    The key goes to no other host; behind a proxy, say, ``results_url`` names the host behind it.
    """
    url = state.results_url
    if url is not None and urlsplit(url)[:2] == urlsplit(server)[:2]:
        return url
    return f"{_PATH}/{state.id}/results"


def _read(shape: type[ShapeT], reply: Reply) -> ShapeT:
    try:
        return read(shape, reply.text)
    except NotOfTheApiError as error:
        what = f"a 200 answer that is no {shape.__name__} ({error})"
        raise AttemptError(what, "retry", status=_OK) from None

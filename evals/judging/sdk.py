"""The Anthropic SDK's client: one HTTP exchange at a time, and what its failures mean.

The one module that imports the SDK. Its aiohttp transport is used, which
costs half the CPU of its default one for a call (see the benchmark in ``tests/benchmarks``).
"""

import gc
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from evals.judging.headers import retry_after_s
from evals.judging.transport import AttemptError, FailureKind, Reply
from evals.untrusted import for_terminal

if TYPE_CHECKING:
    import anthropic

DEFAULT_BASE_URL = "https://api.anthropic.com"
_SLOW_DOWN = frozenset({429, 529})
_RETRY = frozenset({408, 409})
_STOP_RUN = frozenset({401, 402, 403, 404})
"""Unknown key, no credit, forbidden, unknown model or address: the next request fares no better."""
_SERVER_ERRORS = 500
_REDIRECTS = range(300, 400)
_DETAIL_LENGTH = 200
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_SPEND_CAP = "enforced_spend_limit_reached"
"""``error.details.error_code`` of a 429 that holds until the account's next month."""
_LARGEST_PIECE_BYTES = 2**19
"""aiohttp warns of longer ones, which keep the loop busy, and a warning may be an error."""
_JSON_HEADERS = {"content-type": "application/json"}


class ApiClient:
    """Sends requests with the SDK's own retries and deadlines off."""

    def __init__(self, *, api_key: SecretStr, base_url: str | None, max_connections: int) -> None:
        """Import the SDK (half a second) and make the client; nothing is sent.

        Args:
            api_key: never logged, never part of an error.
            base_url: any server that speaks the Messages API; None: the default one.
            max_connections: connections kept.
        """
        self._sdk, http = import_sdk()
        import aiohttp  # noqa: PLC0415  there by now: the SDK imports it

        self._response_type = http.Response
        self._http_error = http.HTTPError
        self._connector_error = aiohttp.ClientConnectorError
        self._api_key = api_key
        url = DEFAULT_BASE_URL if base_url is None else base_url
        self._server = _without_credentials(url)
        limits = http.Limits(
            max_connections=max_connections, max_keepalive_connections=max_connections
        )
        self._client: anthropic.AsyncAnthropic = self._sdk.AsyncAnthropic(
            api_key=api_key.get_secret_value(),
            base_url=url,
            max_retries=0,
            # The deadline is the caller's and covers the whole attempt.
            timeout=None,
            open_telemetry=False,
            # A redirect would hand the key to another host: it is an error instead.
            http_client=self._sdk.DefaultAioHttpClient(
                limits=limits, timeout=None, follow_redirects=False
            ),
        )

    @property
    def server(self) -> str:
        """Address of the server, without credentials."""
        return self._server

    async def post(
        self, path: str, body: bytes | AsyncIterable[bytes], *, length_bytes: int | None = None
    ) -> Reply:
        """Post JSON and return the 200 answer.

        The body goes through ``post`` and not ``messages.create``, which would check, copy and
        encode the parameters again and build a typed answer: more work, and not what is stored.

        Args:
            path: under the server's address.
            body: JSON; in pieces where it is too long to be held at once.
            length_bytes: of a body in pieces; servers want to know.

        Raises:
            AttemptError: there is no such answer.
        """
        if isinstance(body, bytes) and len(body) > _LARGEST_PIECE_BYTES:
            length_bytes = len(body)
            body = _in_pieces(body)
        headers = _JSON_HEADERS
        if length_bytes is not None:
            headers = {**_JSON_HEADERS, "content-length": str(length_bytes)}
        sending = self._client.post(
            path, cast_to=self._response_type, content=body, options={"headers": headers}
        )
        return await self._reply_of(sending)

    async def get(self, path: str) -> Reply:
        """Get JSON and return the 200 answer.

        Raises:
            AttemptError: there is no such answer.
        """
        return await self._reply_of(self._client.get(path, cast_to=self._response_type))

    async def stream(self, path: str) -> AsyncGenerator[bytes]:
        """Get a body piece by piece, however long it is; to be closed where it is not read out.

        Raises:
            AttemptError: there is no 200 answer, or it broke off.
        """
        failure: AttemptError | None = None
        try:
            response = await self._client.get(
                path,
                cast_to=self._response_type,
                # What ``with_streaming_response`` of the SDK's typed methods comes to.
                options={"headers": {"X-Stainless-Raw-Response": "stream"}},
            )
            try:
                async for piece in response.aiter_bytes():
                    yield piece
            finally:
                await response.aclose()
        except self._sdk.AnthropicError as error:
            failure = self.failure_of(error)
        except (self._http_error, OSError) as error:
            what = f"an answer that broke off ({type(error).__name__}: {error})"
            failure = self._failure(what, "retry")
        if failure is not None:
            # Raised out here so that it carries no context: see ``_reply_of``.
            raise failure

    def hide(self, text: str) -> str:
        """Return what a server said without the key, which it can say back."""
        return text.replace(self._api_key.get_secret_value(), "(key)")

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _reply_of(self, sending: Awaitable[Any]) -> Reply:
        try:
            response = await sending
            reply = Reply(response.content.decode("utf-8"), response.headers)
        except self._sdk.AnthropicError as error:
            failure = self.failure_of(error)
        except UnicodeDecodeError:
            failure = AttemptError("a 200 answer that is not UTF-8", "retry")
        else:
            if self._api_key.get_secret_value() not in reply.text:
                return reply
            # It would be kept in the store, in rows and on pages.
            failure = AttemptError("a 200 answer that says the API key back", "give_up")
        # Raised out here so that it carries no context: an SDK error holds the request's headers.
        raise failure

    def failure_of(self, error: "anthropic.AnthropicError") -> AttemptError:
        """Return what an error of the SDK means, fit for a terminal and without the key."""
        if isinstance(error, self._sdk.APIStatusError):
            return self._refusal(error)
        if isinstance(error, self._sdk.APITimeoutError):
            return AttemptError("a time-out", "retry", timed_out=True)
        if isinstance(error, self._sdk.APIConnectionError):
            cause = error.__cause__ or error
            what = f"no connection ({type(cause).__name__}: {cause})"
            # The SDK's own error says the same of a connection that broke later.
            unreachable = isinstance(cause.__cause__, self._connector_error)
            return self._failure(what, "retry", unreachable=unreachable)
        return self._failure(f"{type(error).__name__}: {error}", "give_up")

    def _refusal(self, error: "anthropic.APIStatusError") -> AttemptError:
        said = error.api_message or error.response.text
        what = f"HTTP {error.status_code} ({error.type or 'no type'}: {said})"
        kind = "stop_run" if _is_spend_cap(error.body) else _kind_of(error.status_code)
        return self._failure(what, kind, status=error.status_code, headers=error.response.headers)

    def _failure(
        self,
        what: str,
        kind: FailureKind,
        *,
        unreachable: bool = False,
        status: int | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> AttemptError:
        # A server can say anything back, the key included.
        hidden = self.hide(what)
        return AttemptError(
            for_terminal(hidden, _DETAIL_LENGTH),
            kind,
            retry_after_s=retry_after_s(headers, datetime.now(UTC)),
            unreachable=unreachable,
            status=status,
            headers=headers,
        )


def import_sdk() -> tuple[Any, ModuleType]:
    """Import the SDK and its HTTP library, which takes half a second; return both.

    Not at the top of this module, for a run on recorded answers does not pay for it.
    """
    # A third of it would be the garbage collector looking at 3,000 modules that stay.
    collecting = gc.isenabled()
    gc.disable()
    try:
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415
    finally:
        if collecting:
            gc.enable()
    return anthropic, httpx2


async def _in_pieces(body: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(body), _LARGEST_PIECE_BYTES):
        yield body[start : start + _LARGEST_PIECE_BYTES]


def _is_spend_cap(body: object) -> bool:
    for key in ("error", "details", "error_code"):
        if not isinstance(body, dict) or key not in body:
            return False
        body = body[key]
    return body == _SPEND_CAP


def _kind_of(status: int) -> FailureKind:
    if status in _SLOW_DOWN:
        return "slow_down"
    if status in _RETRY or status >= _SERVER_ERRORS:
        return "retry"
    return "stop_run" if status in _STOP_RUN or status in _REDIRECTS else "give_up"


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return for_terminal(f"{parts.scheme}://{host}{parts.path}")

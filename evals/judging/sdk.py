"""The Anthropic SDK's client: one HTTP exchange at a time, and what its failures mean.

The one module that imports the SDK. Its aiohttp transport is used, which
costs half the CPU of its default one for a call (see the benchmark in ``tests/benchmarks``).
"""

import gc
from datetime import UTC, datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from evals.judging.retry import retry_after_s
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
        self._sdk, http = _import_sdk()
        self._response_type = http.Response
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

    async def post(self, path: str, body: bytes) -> Reply:
        """Post JSON and return the 200 answer.

        The body goes through ``post`` and not ``messages.create``, which would check, copy and
        encode the parameters again and build a typed answer: more work, and not what is stored.

        Raises:
            AttemptError: there is no such answer.
        """
        try:
            response = await self._client.post(
                path,
                cast_to=self._response_type,
                content=body,
                options={"headers": _JSON_HEADERS},
            )
            reply = Reply(response.content.decode("utf-8"), response.headers)
        except self._sdk.AnthropicError as error:
            failure = self.failure_of(error)
        except UnicodeDecodeError:
            failure = AttemptError("a 200 answer that is not UTF-8", "retry")
        else:
            return reply
        # Raised out here so that it carries no context: an SDK error holds the request's headers.
        raise failure

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.close()

    def failure_of(self, error: "anthropic.AnthropicError") -> AttemptError:
        """Return what an error of the SDK means, fit for a terminal and without the key."""
        if isinstance(error, self._sdk.APIStatusError):
            return self._refusal(error)
        if isinstance(error, self._sdk.APITimeoutError):
            return AttemptError("a time-out", "retry", timed_out=True)
        if isinstance(error, self._sdk.APIConnectionError):
            cause = error.__cause__ or error
            return self._failure(f"no connection ({type(cause).__name__}: {cause})", "retry")
        return self._failure(f"{type(error).__name__}: {error}", "give_up")

    def _refusal(self, error: "anthropic.APIStatusError") -> AttemptError:
        wait_s = retry_after_s(error.response.headers, datetime.now(UTC))
        said = error.api_message or error.response.text
        what = f"HTTP {error.status_code} ({error.type or 'no type'}: {said})"
        return self._failure(what, _kind_of(error.status_code), wait_s)

    def _failure(self, what: str, kind: FailureKind, wait_s: float | None = None) -> AttemptError:
        # A server can say anything back, the key included.
        hidden = what.replace(self._api_key.get_secret_value(), "(key)")
        return AttemptError(for_terminal(hidden, _DETAIL_LENGTH), kind, retry_after_s=wait_s)


def _import_sdk() -> tuple[Any, ModuleType]:
    # Imported here: a run on recorded answers does not pay for it. A third of the import would be
    # the garbage collector looking at 3,000 modules that stay.
    collecting = gc.isenabled()
    gc.disable()
    try:
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415
    finally:
        if collecting:
            gc.enable()
    return anthropic, httpx2


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

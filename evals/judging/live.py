"""The Anthropic API, one attempt at a time. The only module that imports its SDK."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from evals.judging.retry import retry_after_s
from evals.judging.transport import AttemptError, FailureKind
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


class LiveTransport:
    """Posts to ``/v1/messages`` with the SDK's own retries off."""

    def __init__(self, *, api_key: SecretStr, base_url: str | None, max_in_flight: int) -> None:
        """Import the SDK (about a second) and make the client; nothing is sent.

        Args:
            api_key: never logged, never part of an error.
            base_url: any server that speaks the Messages API; None: the default one.
            max_in_flight: connections kept.
        """
        # Imported here: a run on recorded answers does not pay for it.
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415

        self._sdk = anthropic
        self._response_type = httpx2.Response
        self._api_key = api_key
        url = DEFAULT_BASE_URL if base_url is None else base_url
        self._server = _without_credentials(url)
        limits = httpx2.Limits(
            max_connections=max_in_flight, max_keepalive_connections=max_in_flight
        )
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key.get_secret_value(),
            base_url=url,
            max_retries=0,
            # The deadline is the caller's and covers the whole attempt.
            timeout=None,
            open_telemetry=False,
            # A redirect would hand the key to another host: it is an error instead.
            http_client=anthropic.DefaultAsyncHttpxClient(
                limits=limits, timeout=None, follow_redirects=False
            ),
        )

    @property
    def server(self) -> str:
        """Address of the server, without credentials."""
        return self._server

    async def send(self, params: dict[str, Any]) -> str:
        """Post one attempt; see ``Transport.send``.

        The body goes through ``post`` and not ``messages.create``, which would check and transform
        the parameters and build a typed answer: more work a call, and not what is stored.
        """
        try:
            response = await self._client.post(
                "/v1/messages", cast_to=self._response_type, body=params
            )
            text = response.content.decode("utf-8")
        except self._sdk.APIStatusError as error:
            failure = self._refusal(error)
        except self._sdk.APITimeoutError:
            failure = AttemptError("a time-out", "retry", timed_out=True)
        except self._sdk.APIConnectionError as error:
            cause = error.__cause__ or error
            failure = self._failure(f"no connection ({type(cause).__name__}: {cause})", "retry")
        except self._sdk.AnthropicError as error:
            failure = self._failure(f"{type(error).__name__}: {error}", "give_up")
        except UnicodeDecodeError:
            failure = AttemptError("a 200 answer that is not UTF-8", "retry")
        else:
            return text
        # Raised out here so that it carries no context: an SDK error holds the request's headers.
        raise failure

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.close()

    def _refusal(self, error: "anthropic.APIStatusError") -> AttemptError:
        wait_s = retry_after_s(error.response.headers, datetime.now(UTC))
        said = error.api_message or error.response.text
        what = f"HTTP {error.status_code} ({error.type or 'no type'}: {said})"
        return self._failure(what, _kind_of(error.status_code), wait_s)

    def _failure(self, what: str, kind: FailureKind, wait_s: float | None = None) -> AttemptError:
        # A server can say anything back, the key included.
        hidden = what.replace(self._api_key.get_secret_value(), "(key)")
        return AttemptError(for_terminal(hidden, _DETAIL_LENGTH), kind, retry_after_s=wait_s)


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

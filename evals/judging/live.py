"""The Messages API, one attempt at a time."""

from pydantic import SecretStr

from evals.judging.sdk import ApiClient
from evals.judging.transport import Reply


class LiveTransport:
    """Posts to ``/v1/messages``; implements ``Transport``."""

    def __init__(self, *, api_key: SecretStr, base_url: str | None, max_in_flight: int) -> None:
        """Make the client; nothing is sent. See ``ApiClient``."""
        self._client = ApiClient(api_key=api_key, base_url=base_url, max_connections=max_in_flight)

    @property
    def server(self) -> str:
        """Address of the server, without credentials."""
        return self._client.server

    async def send(self, body: bytes) -> Reply:
        """Post one attempt; see ``Transport.send``."""
        return await self._client.post("/v1/messages", body)

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

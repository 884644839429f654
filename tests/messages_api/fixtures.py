"""The local Messages API server as a pytest fixture: a process of its own, so that it does not
share the tested process's interpreter lock.

``from tests.messages_api.fixtures import messages_api, messages_api_process`` in a conftest.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest

SERVER = Path(__file__).with_name("server.py")
_OPENER = build_opener(ProxyHandler({}))


class MessagesApi:
    """A running server."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def reset(
        self,
        *faults: str,
        latency_s: float = 0.0,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        quota: Mapping[str, float] | None = None,
        clock_ahead_s: float | None = None,
    ) -> None:
        """Set faults (``overloaded:0.1``), latency, headers of errors, …; counters start at 0.

        See ``server.py`` for each of them.
        """
        settings = {
            "latency_s": latency_s,
            "faults": faults,
            "headers": dict(headers),
            "quota": quota,
            "clock_ahead_s": clock_ahead_s,
        }
        self._control(json.dumps(settings).encode())

    def counts(self) -> dict[str, Any]:
        """Return the counters since the last reset; see ``Counts`` in server.py."""
        return self._control(None)

    def counts_at_rest(self) -> dict[str, Any]:
        """Return the counters once every connection is closed, or, if some stay, as they are.

        The server hears of a closed one within some hundredths of a second.
        """
        for _ in range(200):
            found = self.counts()
            if found["open_connections"] == 0:
                break
        return found

    def reset_batches(self, *faults: str, ends_after_polls: int = 0, forget: bool = True) -> None:
        """Set the faults of batches, and when they end; their counters start at 0.

        See ``batches.py``. Batches that were accepted stay where it is not to ``forget``.
        """
        settings = {"faults": faults, "ends_after_polls": ends_after_polls, "forget": forget}
        self._control(json.dumps(settings).encode(), "/batches")

    def batch_counts(self) -> dict[str, Any]:
        """Return the counters of batches since the last reset."""
        return self._control(None, "/batches")

    def _control(self, content: bytes | None, part: str = "") -> dict[str, Any]:
        address = f"{self.url}/control{part}"
        with _OPENER.open(Request(address, data=content), timeout=10) as response:
            found: dict[str, Any] = json.load(response)
            return found


@pytest.fixture(scope="session")
def messages_api_process() -> Iterator[MessagesApi]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield MessagesApi(int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@pytest.fixture
def messages_api(messages_api_process: MessagesApi) -> MessagesApi:
    messages_api_process.reset()
    messages_api_process.reset_batches()
    return messages_api_process

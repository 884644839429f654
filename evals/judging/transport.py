"""The seam under the live calls: one HTTP attempt, which gives a body or says how it failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

FailureKind = Literal["retry", "slow_down", "give_up", "stop_run", "outage"]
"""What follows from a failed attempt:

``retry``       this call may be tried again
``slow_down``   the same, and everybody has to send less: the server asks for it (429, 529), or
                answers nobody (see ``evals.judging.outages``)
``give_up``     this request will never be answered; others may (400, 413)
``stop_run``    no request of this run will be answered: key, model or address are wrong
``outage``      the same, since every call was refused for too long (see ``RetryPolicy``)
"""


class AttemptError(Exception):
    """One HTTP attempt gave no answer. Never leaves ``evals.judging``."""

    def __init__(
        self,
        what: str,
        kind: FailureKind,
        *,
        retry_after_s: float | None = None,
        timed_out: bool = False,
        unreachable: bool = False,
        status: int | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """State what happened.

        Args:
            what: the failure, fit for a terminal; never the key.
            kind: what follows from it.
            retry_after_s: what the server asked for, unbounded; None where it did not.
            timed_out: whether the deadline of the attempt passed.
            unreachable: whether no connection could be made, so that nothing was sent.
            status: HTTP status of the answer; None where there was none.
            headers: of the answer, by name, case-insensitive or in lower case.
        """
        super().__init__(what, kind)
        self.what = what
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.timed_out = timed_out
        self.unreachable = unreachable
        self.status = status
        self.headers = headers


@dataclass(frozen=True)
class Reply:
    """A 200 answer."""

    text: str
    """The body, verbatim."""
    headers: Mapping[str, str]
    """By name, case-insensitive or in lower case."""


class Transport(Protocol):
    """Sends one attempt at a time; knows nothing of retries, deadlines and stores."""

    @property
    def server(self) -> str:
        """Address of the server for messages, without credentials."""
        ...

    async def send(self, body: bytes) -> Reply:
        """Post a Messages API body as it is and return the 200 answer.

        Raises:
            AttemptError: there is no such answer.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...

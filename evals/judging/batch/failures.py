"""What became of a request that no batch has answered, and what a user can do about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from evals.judging.batch.wire import Errored, ResultLine
from evals.judging.transport import AttemptError
from evals.untrusted import for_terminal

RUN_AGAIN = "Run again: what is answered is kept. Or raise --max-attempts."
_FOR_GOOD = frozenset(
    [
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
    ]
)
"""Error types that the same request meets again; any other may pass."""
_DETAIL_LENGTH = 200

Follow = Literal["later", "again", "give_up"]
"""What follows from a request without an answer: it was not taken, and is sent when others have
ended; it is asked again, so many times; or never in this run."""


@dataclass(frozen=True)
class Failure:
    """A request that came back without an answer, or did not go out."""

    follow: Follow
    what: str
    """Fit for a terminal."""
    todo: str
    """For the reader, where it is not asked again."""
    may_be_billed: bool = False
    """Whether the server took it, as far as anybody can tell, and may have answered it, or may yet:
    so nobody knows what it costs."""


def of_result(line: ResultLine, hide: Callable[[str], str]) -> Failure:
    """Return what a result without an answer means; such a request is not billed."""
    result = line.result
    if isinstance(result, Errored):
        error = result.error.error
        what = for_terminal(hide(f"{error.type}: {error.message}"), _DETAIL_LENGTH)
        if error.type not in _FOR_GOOD:
            return Failure("again", what, RUN_AGAIN)
        todo = "The server refuses this request as it stands: check model, prompt and limits."
        return Failure("give_up", what, todo)
    if result.type == "canceled":
        what = "canceled at the server before it was answered"
        return Failure("give_up", what, "Run again: it is asked anew.")
    if result.type == "expired":
        return Failure("again", "expired before it was answered", RUN_AGAIN)
    what = for_terminal(hide(f"a result of type {result.type!r}"), _DETAIL_LENGTH)
    return Failure("again", what, RUN_AGAIN)


def lost(what: str) -> Failure:
    """Return the failure of requests whose results nobody can get any more."""
    return Failure("again", what, RUN_AGAIN, may_be_billed=True)


def unusable(what: str) -> Failure:
    """Return the failure of a request whose result is lacking, or an answer that cannot be read."""
    return Failure("again", what, RUN_AGAIN, may_be_billed=True)


def not_looked_at(failure: AttemptError, server: str, batch_id: str) -> Failure:
    """Return the failure of requests in a batch of which the server does not say how far it is."""
    what = f"{failure.what} from {server}, asked about batch {batch_id}"
    todo = "Run again: the batch goes on at the server, and what is answered is kept."
    return Failure("give_up", what, todo, may_be_billed=True)


def not_accepted(failure: AttemptError, server: str, *, in_doubt: bool) -> Failure:
    """Return the failure of requests in a batch that was not accepted, as far as anybody heard."""
    what = f"{failure.what} from {server}, which was sent a batch"
    if in_doubt:
        todo = "Run again: whether it was accepted all the same is looked up first."
    elif failure.kind == "stop_run":
        todo = (
            "Check ANTHROPIC_API_KEY, --judge-model, ANTHROPIC_BASE_URL and the account's limits."
        )
    elif failure.kind == "give_up":
        todo = "The server refuses the batch as it stands: check model, prompt and limits."
    else:
        todo = "Run again later: the server takes no batch now."
    return Failure("give_up", what, todo, may_be_billed=in_doubt)

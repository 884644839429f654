"""What an xdist worker is told: which items there are, and what each came to.

Plain data, and no import of an instrument: a worker starts with this module alone.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evals.errors import EvalError
from evals.judging.judged import Judged

ABORTED = "aborted"
"""Run-state flag in the store: no more results will come."""
WORKER_INPUT = "evals"
"""Key of xdist's ``workerinput`` that holds ``WorkerInput.as_plain``."""


@dataclass(frozen=True)
class WorkerInput:
    """What a worker knows from the start."""

    run_id: str
    store_path: str
    """Absolute: a worker may have another working directory."""
    case_ids: Mapping[str, Mapping[str, Sequence[str]]]
    """Path of an evaluation file from the checkout's root -> test function -> ids, in order."""

    def as_plain(self) -> dict[str, Any]:
        """Return it as the plain values that go to another process."""
        return asdict(self)


@dataclass(frozen=True)
class Failed:
    """A case that ended in an error and has no row."""

    text: str
    stops_run: bool


def result_text(result: Judged | BaseException) -> str:
    """Return what the controller puts into the store for a case that has ended."""
    if isinstance(result, BaseException):
        stops = isinstance(result, EvalError) and result.stops_run
        return json.dumps({"failed": asdict(Failed(f"{type(result).__name__}: {result}", stops))})
    return json.dumps({"judged": asdict(result)})


def result_of(text: str) -> Judged | Failed:
    """Read what ``result_text`` wrote."""
    message = json.loads(text)
    if "failed" in message:
        return Failed(**message["failed"])
    return Judged(**message["judged"])

"""What the two processes say to each other, pickled over one connection."""

from dataclasses import dataclass

from evals.config import RunConfig
from evals.errors import EvalError
from evals.judging.case import RunContext
from evals.judging.engine import EngineCounts
from evals.judging.gist import Gist
from evals.judging.missing import MissingAnswers


@dataclass(frozen=True)
class Start:
    """Once, first: what the run is."""

    config: RunConfig
    context: RunContext
    suite_paths: tuple[str, ...]


@dataclass(frozen=True)
class Submit:
    """Evaluate these items, in this order."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class TellMissing:
    """Once, when all is judged: answer with ``Missing``, and write out an export."""


@dataclass(frozen=True)
class Close:
    """Cancel what is not done, and end. The end of the stream says the same."""


ToJudge = Start | Submit | TellMissing | Close


@dataclass(frozen=True)
class Opened:
    """Store, recordings and SDK are there."""


@dataclass(frozen=True)
class NotOpened:
    """They are not; nothing else follows."""

    error: EvalError


@dataclass(frozen=True)
class Done:
    """An item has its row."""

    key: str
    gist: Gist
    row_json: str


@dataclass(frozen=True)
class Failed:
    """An item ended in an error."""

    key: str
    error: EvalError


@dataclass(frozen=True)
class Counted:
    """The counters, a few times a second where they change, and at the end."""

    counts: EngineCounts


@dataclass(frozen=True)
class Missing:
    """What recorded mode has no answer to, or why that cannot be written out."""

    answers: MissingAnswers | EvalError


FromJudge = Opened | NotOpened | Done | Failed | Counted | Missing

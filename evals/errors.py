"""The error tree. Every message says where, what was found, what was wanted and what to do.

EvalError
├── ConfigError            an option or setting is wrong (exit code 4)
├── TraceError             a trace cannot be read as it stands
├── PromptError            a prompt file is missing, or its placeholders do not fit
├── StoreError             the answer store cannot be opened, read or written (stops the session)
├── ExchangeError          exported requests and imported answers do not fit together
├── CalibrationError       a gallery or a calibration stamp cannot be read
├── JudgeProcessError      the process that judges ended, or met a fault (stops the session)
├── RunError               a run record cannot be read or written (writing stops the session)
├── IsolationError         a blind request held text of the source (stops the session, exit code 12)
├── WrongModelError        another model answered than the pinned one (stops the session)
└── JudgeError             one call gave no usable answer; becomes ``Unjudged(reason, detail)``
    ├── RefusedError         refused
    ├── TruncatedError       truncated
    ├── InvalidOutputError   invalid_output
    ├── CallTimeoutError     timeout
    ├── ExhaustedError       exhausted
    ├── NotRecordedError     not_recorded
    ├── TooLargeError        too_large
    └── BudgetError          budget
"""

from typing import ClassVar, Literal

UnjudgedReason = Literal[
    "refused",
    "truncated",
    "invalid_output",
    "timeout",
    "exhausted",
    "not_recorded",
    "too_large",
    "budget",
]
"""Why an item has no verdict. Reasons of the harness, not kinds of failing conclusions."""


class EvalError(Exception):
    """Base of every error this project raises on purpose."""

    stops_run: ClassVar[bool] = False
    """Whether nothing more may be asked after it: going on would be wrong, or paid for nothing."""

    def __init__(self, where: str, found: str, wanted: str, todo: str) -> None:
        """State the four things a reader needs.

        Args:
            where: file and line, JSON path, option name or case id.
            found: what was there.
            wanted: what should have been there.
            todo: what the reader can do about it.
        """
        super().__init__(where, found, wanted, todo)
        self.where = where
        self.found = found
        self.wanted = wanted
        self.todo = todo

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}; wanted {self.wanted}. {self.todo}"


class ConfigError(EvalError):
    """An option or setting is wrong."""


class TraceError(EvalError):
    """A trace cannot be read as it stands."""


class PromptError(EvalError):
    """A prompt file is missing, or its placeholders do not fit the values given."""


class StoreError(EvalError):
    """The answer store cannot be opened, read or written. Stops the session."""

    stops_run = True


class ExchangeError(EvalError):
    """Exported requests and imported answers do not fit together."""


class CalibrationError(EvalError):
    """A gallery or a calibration stamp cannot be read."""


class RunError(EvalError):
    """A run record cannot be read or written. Stops the session."""

    stops_run = True


class JudgeProcessError(EvalError):
    """The process that judges ended, or met a fault of its own. Stops the session."""

    stops_run = True


class IsolationError(EvalError):
    """A blind request held text of the source, or of a sibling (1.1). Stops the session."""

    stops_run = True


class WrongModelError(EvalError):
    """Another model answered than the pinned one (1.5). Stops the session."""

    stops_run = True


class JudgeError(EvalError):
    """One call gave no usable answer. Never a score; becomes ``Unjudged(reason, detail)``."""

    reason: ClassVar[UnjudgedReason]


class RefusedError(JudgeError):
    """The model declined to answer."""

    reason = "refused"


class TruncatedError(JudgeError):
    """The answer hit the token limit and was cut off."""

    reason = "truncated"


class InvalidOutputError(JudgeError):
    """The answer is not the JSON object that was asked for."""

    reason = "invalid_output"


class CallTimeoutError(JudgeError):
    """The call's hard deadline passed."""

    reason = "timeout"


class ExhaustedError(JudgeError):
    """Every allowed attempt failed, or the service refused the request for good."""

    reason = "exhausted"


class NotRecordedError(JudgeError):
    """Recorded mode has no answer to this request."""

    reason = "not_recorded"


class TooLargeError(JudgeError):
    """The item does not fit into one request; it is refused whole and never cut."""

    reason = "too_large"


class BudgetError(JudgeError):
    """The run may not buy any more: nothing was sent."""

    reason = "budget"

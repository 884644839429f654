"""What an instrument hands to the plugin: a case to evaluate, and the row that comes of it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from evals.errors import UnjudgedReason
from evals.judging.judged import Judged, Outcome
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import Judge
from evals.records import Call, Provenance, Record, Unjudged


@dataclass(frozen=True)
class RunContext:
    """What every case of a run shares beside the judge."""

    run_id: str
    bench_version: str
    git_commit: str | None
    git_dirty: bool | None
    settings: JudgeSettings
    over_inference_fails: bool


class Row(Record):
    """One line of ``rows.jsonl``; each instrument adds its own fields."""

    kind: str
    """``conclusion``, ``batch``, ``window``, ``gold_fact``, ``question``."""
    instrument: str
    """``premise``: the folder under ``evals/``."""
    case_id: str
    outcome: Outcome
    unjudged: Unjudged | None
    """Set exactly when ``outcome`` is ``unjudged``."""
    calls: tuple[Call, ...]
    provenance: Provenance

    @property
    def unjudged_reason(self) -> UnjudgedReason | None:
        """Why there is no verdict; None where there is one."""
        return None if self.unjudged is None else self.unjudged.reason

    @property
    def shortfall(self) -> str:
        """Why a hard assert on the case fails; empty: a verdict is a recorded outcome."""
        return ""

    @property
    def judged(self) -> Judged:
        """What the case's test needs to know."""
        return Judged(
            case_id=self.case_id,
            instrument=self.instrument,
            outcome=self.outcome,
            run_id=self.provenance.run_id,
            unjudged_reason=self.unjudged_reason,
            shortfall=self.shortfall,
        )


@dataclass(frozen=True)
class FollowUp:
    """Calls that a case may make once answers that it lacks are there; see ``Case.follow_ups``."""

    request: JudgeRequest
    """One of them, with nothing where earlier answers will stand. For its size; never sent."""
    least: int
    """If every answer before it can be used."""
    most: int
    fed_by: tuple[str, ...]
    """Purposes whose answers will stand in it."""


class Case(Protocol):
    """One parametrized test case: a conclusion, a batch or a window."""

    @property
    def case_id(self) -> str:
        """ASCII, ``[A-Za-z0-9_./-]``; unique in its instrument; the id of the pytest item."""
        ...

    async def evaluate(self, judge: Judge, context: RunContext) -> Row:
        """Judge it. Never raises ``JudgeError``: that becomes an unjudged row.

        Raises:
            IsolationError: see ``Judge.ask``.
            WrongModelError: see ``Judge.ask``.
        """
        ...

    def follow_ups(self, missing: Collection[str], settings: JudgeSettings) -> tuple[FollowUp, ...]:
        """Return what the case may still ask once it has the answers that it lacks.

        Args:
            missing: purposes of the requests without an answer that it has come to.
            settings: the run's.
        """
        ...

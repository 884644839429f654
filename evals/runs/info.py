"""What a run was, in one record: the content of ``run.json``."""

from datetime import date, datetime
from typing import Self

from pydantic import Field, model_validator

from evals.config import Limits
from evals.policy import CoveragePolicy
from evals.records import Record
from evals.runs.bought import CountsAre, TokensBought
from evals.runs.gates import GateResult
from evals.traces import ImportReport

RUN_FILE = "run.json"
ROWS_FILE = "rows.jsonl"
WINDOWS_FILE = "windows.jsonl"
SUMMARY_FILE = "summary.json"


class RunInfo(Record):
    """What was run, with what, and how it ended. No field has a default."""

    run_id: str
    started_at: datetime
    ended_at: datetime | None
    """None while it runs, and for ever where it was killed."""
    complete: bool
    """True once every selected item has ended; written as False at the start."""
    bench_version: str
    git_commit: str | None
    git_dirty: bool | None
    judge_mode: str
    judge_mode_why: str
    judge_model: str
    """The model asked for (1.5)."""
    models_served: tuple[str, ...]
    """Every model id that answered, sorted; empty at the start."""
    judge_repeat: int = Field(ge=0)
    """Repeat index of every request (``--judge-repeat``)."""
    reasoning: str
    prompt_hashes: dict[str, str]
    """Prompt name -> hash, of all instruments, run or not; a row has those of its own."""
    over_inference_fails: bool
    coverage_policy: CoveragePolicy
    allow_unjudged: float = Field(ge=0, le=1)
    """Largest share of unjudged items that still exits 0."""
    skip_bad_records: bool
    """Whether bad records of a trace were left out and counted, not refused."""
    calibrated: bool
    calibration_why: str
    trace_paths: tuple[str, ...]
    imports: tuple[ImportReport, ...]
    """One a trace, in the order of ``trace_paths``."""
    collected: int
    """Items that the inputs hold."""
    selected: int
    """Items that this run was to judge, after ``-k``, ``-m`` and the like."""
    counts_are: CountsAre
    """Of the six fields below; unknown while it runs, and for ever where it was killed."""
    calls_sent: int | None = Field(ge=0)
    """Requests that this run itself sent to the service; one that was lost with its batch and had
    to be bought again counts twice."""
    calls_sent_again: int | None = Field(ge=0)
    """How often it sent one of them again that had failed, or had come back from a batch without an
    answer. In a batch run these and ``calls_sent`` together are what the service was sent."""
    http_attempts: int | None = Field(ge=0)
    """HTTP attempts that those took, retries included."""
    answers_bought: int | None = Field(ge=0)
    """Live answers, usable or not, whether an item could use them or not."""
    calls_taken_up: int | None = Field(ge=0)
    """Of these, the answers to calls that an earlier run had sent in batches: in its
    ``calls_sent``, and in no other run's ``answers_bought``."""
    tokens_bought: TokensBought | None
    """Of the answers that state them."""
    cost_usd: float | None
    """Of the answers bought, by the price table; None where it cannot be known, and why not is in
    the next field."""
    cost_unknown_why: str | None
    prices_as_of: date | None
    """Day of the price table; None at the start."""
    limits: Limits
    """What the run was allowed to buy."""
    budget_ran_out: str | None
    """The limit that was reached, and how far the run came; None where there was room."""
    gate_expressions: tuple[str, ...]
    """As configured; here from the start, so that a killed run can be gated again."""
    gates: tuple[GateResult, ...]
    """What the expressions came to; empty at the start."""

    @model_validator(mode="after")
    def _counts_are_null_where_unknown(self) -> Self:
        sent = (self.calls_sent, self.calls_sent_again, self.http_attempts)
        bought = (self.answers_bought, self.calls_taken_up, self.tokens_bought)
        for count in (*sent, *bought):
            if (count is None) != (self.counts_are == "unknown"):
                raise ValueError("counts are null exactly where counts_are is unknown")
        return self

    @model_validator(mode="after")
    def _cost_is_known_or_says_why(self) -> Self:
        if (self.cost_usd is None) != (self.cost_unknown_why is not None):
            raise ValueError("cost_usd is null exactly where cost_unknown_why says why")
        return self

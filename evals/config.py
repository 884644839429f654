"""The one validated configuration of a run."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from evals.environment import api_key_text
from evals.errors import ConfigError
from evals.policy import CoveragePolicy
from evals.records import DatasetShape, ReasoningMode, Record

JudgeChoice = Literal["auto", "live", "batch", "recorded"]
JudgeMode = Literal["live", "batch", "recorded"]


class Limits(Record):
    """What a run may buy; None: any amount."""

    max_calls: int | None = Field(ge=0)
    """Requests sent: a call that takes several attempts is one."""
    max_tokens: int | None = Field(ge=0)
    """Tokens read and written, those from the cache included."""
    max_cost_usd: float | None = Field(ge=0, allow_inf_nan=False)


NO_LIMITS = Limits(max_calls=None, max_tokens=None, max_cost_usd=None)


class RunConfig(Record):
    """Everything a run was asked to do, checked once before anything starts."""

    trace_paths: tuple[Path, ...]
    trace_format: str | None
    """None: told from the content."""
    skip_bad_records: bool
    dataset_shape: DatasetShape | None
    """None: what the importer says."""
    judge_mode: JudgeMode
    judge_mode_why: str
    """One sentence for header, summary and report."""
    judge_model: str = Field(min_length=1, description="the id of a model")
    reasoning: ReasoningMode
    judge_repeat: int = Field(ge=0)
    max_in_flight: int = Field(ge=1, le=1000)
    call_timeout_s: float = Field(gt=0, allow_inf_nan=False)
    """Hard deadline of one HTTP attempt."""
    max_attempts: int = Field(ge=1)
    """Failed HTTP attempts a call may take; those refused with 429 or 529, and those of an outage,
    do not count."""
    batch_poll_s: float = Field(gt=0, allow_inf_nan=False)
    """First wait between two looks at a submitted batch, in seconds."""
    limits: Limits
    plan: bool
    """Say what the run would need, and make no call."""
    base_url: str | None
    api_key: SecretStr | None = Field(exclude=True, repr=False)
    """Never written anywhere."""
    store_path: Path
    recordings_dir: Path
    run_id: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$",
        description="1 to 81 letters, digits, dots, dashes and underscores, the first no sign",
    )
    reports_dir: Path
    allow_unjudged: float = Field(ge=0, le=1)
    """Largest share of unjudged items that still exits 0."""
    gates: tuple[str, ...]
    require_calibration: bool
    over_inference_fails: bool
    coverage_policy: CoveragePolicy
    export_dir: Path | None
    """Where requests without an answer are written; None: nowhere."""
    gallery_path: Path

    @property
    def run_dir(self) -> Path:
        """Folder of this run's record and pages."""
        return self.reports_dir / self.run_id


def api_key_in_environment() -> SecretStr | None:
    """Return the key that makes ``--judge auto`` live, or None; an empty variable is none."""
    key = api_key_text()
    return None if key is None else SecretStr(key)


def check_api_key(key: SecretStr) -> None:
    """Refuse what cannot be a key.

    Only a plain one is found again, and hidden, wherever a server or a library says it back.

    Raises:
        ConfigError: it holds something else than visible ASCII characters.
    """
    if not all("!" <= character <= "~" for character in key.get_secret_value()):
        raise ConfigError(
            "ANTHROPIC_API_KEY",
            "a space, a line break or a character beyond ASCII in it",
            "the key as it was given out, on one line",
            "Copy it again, or use --judge recorded.",
        )


def resolve_judge_mode(choice: JudgeChoice, *, has_key: bool) -> tuple[JudgeMode, str]:
    """Return the mode that ``choice`` comes to, and why (design section 5).

    Raises:
        ConfigError: live or batch was asked for and there is no key.
    """
    if choice == "recorded":
        return "recorded", "recorded answers: asked for with --judge recorded"
    if choice in {"live", "batch"} and not has_key:
        raise ConfigError(
            f"--judge {choice}",
            "no ANTHROPIC_API_KEY in the environment",
            "a key",
            "Set ANTHROPIC_API_KEY, or use --judge recorded.",
        )
    if choice == "batch":
        return "batch", "live judge in batches: asked for with --judge batch"
    if choice == "live":
        return "live", "live judge: asked for with --judge live"
    if has_key:
        return "live", "live judge: ANTHROPIC_API_KEY is set"
    return "recorded", "recorded answers: ANTHROPIC_API_KEY is not set"

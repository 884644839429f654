"""The command line: its options, and the one run configuration made of them."""

import difflib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evals.config import (
    DEFAULT_JUDGE_MODEL,
    DEFAULT_STORE,
    RECORDED_JUDGE_MODEL,
    RECORDINGS_DIR,
    REPORTS_DIR,
    ROOT,
    SAMPLE_TRACE,
    RunConfig,
    api_key_in_environment,
    base_url_in_environment,
    resolve_judge_mode,
)
from evals.errors import ConfigError
from evals.policy import CoveragePolicy
from evals.runs.provenance import new_run_id

GATES_INI = "eval_gates"
GALLERY = ROOT / "calibration" / "specimens.yaml"


def add_options(parser: pytest.Parser) -> None:
    """Register every option of the evaluations."""
    _add_input_options(parser.getgroup("evals: input", "evals: traces and gallery"))
    _add_judge_options(parser.getgroup("evals: judge", "evals: who judges, and how"))
    _add_run_options(parser.getgroup("evals: run", "evals: run record, gates and exit code"))
    parser.addini(GATES_INI, "gates of every run, one a line: pass_rate >= 0.8", "linelist", [])


def _add_input_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--traces",
        dest="eval_traces",
        action="append",
        type=Path,
        metavar="PATH",
        help="trace file or folder to judge; may be given more than once"
        " (default: the sample traces)",
    )
    group.addoption(
        "--trace-format",
        dest="eval_trace_format",
        metavar="NAME",
        help="format of the trace (default: told from its content)",
    )
    group.addoption(
        "--skip-bad-records",
        dest="eval_skip_bad",
        action="store_true",
        help="import the rest of a trace with bad records, and report them",
    )
    group.addoption(
        "--dataset-shape",
        dest="eval_dataset_shape",
        choices=("benchmark", "production"),
        help="label of the run's data (default: what the format implies)",
    )
    group.addoption(
        "--gallery",
        dest="eval_gallery",
        type=Path,
        metavar="FILE",
        default=GALLERY,
        help="specimens for `pytest calibration/` (default: the shipped gallery)",
    )


def _add_judge_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--judge",
        dest="eval_judge",
        choices=("auto", "live", "recorded"),
        default="auto",
        help="auto: live where ANTHROPIC_API_KEY is set, recorded where it is not",
    )
    group.addoption(
        "--judge-model",
        dest="eval_judge_model",
        metavar="ID",
        help=f"the pinned judge (default: {DEFAULT_JUDGE_MODEL} live,"
        f" {RECORDED_JUDGE_MODEL} recorded)",
    )
    group.addoption(
        "--reasoning",
        dest="eval_reasoning",
        choices=("off", "adaptive"),
        default="off",
        help="reasoning mode of the judge, one for the whole run",
    )
    group.addoption(
        "--judge-repeat",
        dest="eval_repeat",
        type=int,
        default=0,
        metavar="N",
        help="repeat index: another number asks everything afresh",
    )
    group.addoption(
        "--max-in-flight",
        dest="eval_max_in_flight",
        type=int,
        default=64,
        metavar="N",
        help="calls in flight at once (default: 64)",
    )
    group.addoption(
        "--call-timeout-s",
        dest="eval_call_timeout_s",
        type=float,
        default=120.0,
        metavar="S",
        help="hard deadline of one attempt, in seconds (default: 120)",
    )
    group.addoption(
        "--max-attempts",
        dest="eval_max_attempts",
        type=int,
        default=8,
        metavar="N",
        help="attempts a call may take, the first included (default: 8)",
    )
    group.addoption(
        "--store",
        dest="eval_store",
        type=Path,
        default=DEFAULT_STORE,
        metavar="FILE",
        help="SQLite file that keeps every answer (default: .answers/answers.sqlite)",
    )
    group.addoption(
        "--recordings",
        dest="eval_recordings",
        type=Path,
        default=RECORDINGS_DIR,
        metavar="DIR",
        help="read-only recorded answers under the store (default: fixtures/recordings)",
    )
    group.addoption(
        "--export-requests",
        dest="eval_export",
        type=Path,
        metavar="DIR",
        help="write the requests that have no recorded answer, and stop",
    )


def _add_run_options(group: pytest.OptionGroup) -> None:
    group.addoption("--run-id", dest="eval_run_id", metavar="ID", help="name of the run's folder")
    group.addoption(
        "--reports-dir",
        dest="eval_reports_dir",
        type=Path,
        default=REPORTS_DIR,
        metavar="DIR",
        help="where run folders go (default: reports/)",
    )
    group.addoption(
        "--allow-unjudged",
        dest="eval_allow_unjudged",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="largest share of items that lack an answer, 0 to 1, in any one instrument, that"
        " still exits 0 (default: 0)",
    )
    group.addoption(
        "--gate",
        dest="eval_gates",
        action="append",
        default=[],
        metavar="EXPR",
        help="'pass_rate >= 0.8': exit 10 if it does not hold; may be given more than once",
    )
    group.addoption(
        "--require-calibration",
        dest="eval_require_calibration",
        action="store_true",
        help="stop with exit 11 before the first call unless the judge is calibrated",
    )
    group.addoption(
        "--coverage-policy",
        dest="eval_coverage_policy",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="weight or threshold of the coverage bench: critical_weight=4, partial_credit=0.5, …;"
        " may be given more than once",
    )
    group.addoption(
        "--over-inference-passes",
        dest="eval_over_inference_passes",
        action="store_true",
        help="policy: elements of kind OVER_INFERENCE do not fail a conclusion",
    )


def config_from(config: pytest.Config, run_id: str | None) -> RunConfig:
    """Return the validated run configuration.

    Args:
        config: pytest's, after parsing.
        run_id: the controller's, on an xdist worker; None elsewhere.

    Raises:
        ConfigError: an option is out of range, or two contradict each other.
    """
    option = config.option
    key = api_key_in_environment()
    mode, why = resolve_judge_mode(option.eval_judge, has_key=key is not None)
    if option.eval_export is not None and mode == "live":
        raise ConfigError(
            "--export-requests",
            "a live run",
            "a run that makes no calls",
            "Add --judge recorded (and --judge-model with the model that will answer).",
        )
    if not option.eval_recordings.is_dir():
        raise ConfigError(
            "--recordings", str(option.eval_recordings), "a folder", "Name a folder, or drop it."
        )
    default_model = DEFAULT_JUDGE_MODEL if mode == "live" else RECORDED_JUDGE_MODEL
    values: dict[str, Any] = {
        "trace_paths": tuple(option.eval_traces or (_sample(config),)),
        "trace_format": option.eval_trace_format,
        "skip_bad_records": option.eval_skip_bad,
        "dataset_shape": option.eval_dataset_shape,
        "judge_mode": mode,
        "judge_mode_why": why,
        "judge_model": option.eval_judge_model or default_model,
        "reasoning": option.eval_reasoning,
        "judge_repeat": option.eval_repeat,
        "max_in_flight": option.eval_max_in_flight,
        "call_timeout_s": option.eval_call_timeout_s,
        "max_attempts": option.eval_max_attempts,
        "base_url": base_url_in_environment(),
        "api_key": key,
        "store_path": option.eval_store,
        "recordings_dir": option.eval_recordings,
        "run_id": run_id or option.eval_run_id or new_run_id(datetime.now(UTC)),
        "reports_dir": option.eval_reports_dir,
        "allow_unjudged": option.eval_allow_unjudged,
        "gates": (*config.getini(GATES_INI), *option.eval_gates),
        "require_calibration": option.eval_require_calibration,
        "over_inference_fails": not option.eval_over_inference_passes,
        "coverage_policy": _policy_from(option.eval_coverage_policy),
        "export_dir": option.eval_export,
        "gallery_path": option.eval_gallery,
    }
    try:
        return RunConfig(**values)
    except ValidationError as error:
        raise _config_error(error) from error


def _policy_from(settings: list[str]) -> CoveragePolicy:
    values: dict[str, str] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        known = list(CoveragePolicy.model_fields)
        if not sign or name.strip() not in known:
            near = difflib.get_close_matches(name.strip(), known, n=1)
            raise ConfigError(
                "--coverage-policy",
                repr(setting),
                f"NAME=NUMBER with one of {', '.join(known)}",
                f"Did you mean {near[0]}?" if near else "Correct the setting.",
            )
        if name.strip() in values:
            raise ConfigError(
                "--coverage-policy", f"{name.strip()} twice", "each name once", "Drop one of them."
            )
        values[name.strip()] = value.strip()
    try:
        return CoveragePolicy.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConfigError(
            f"--coverage-policy {first['loc'][0]}",
            repr(first["input"]),
            first["msg"],
            "Correct the setting.",
        ) from error


def _sample(config: pytest.Config) -> Path:
    # Relative, so that a report of the sample says the same on every machine.
    return Path(os.path.relpath(SAMPLE_TRACE, config.invocation_params.dir))


def _config_error(error: ValidationError) -> ConfigError:
    first = error.errors(include_url=False)[0]
    option = f"--{str(first['loc'][0]).replace('_', '-')}"
    return ConfigError(option, repr(first["input"]), first["msg"], "Correct the option.")

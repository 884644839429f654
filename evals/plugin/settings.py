"""From the parsed command line to the one run configuration."""

import difflib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evals.config import (
    JudgeMode,
    RunConfig,
    api_key_in_environment,
    check_api_key,
    resolve_judge_mode,
)
from evals.defaults import DEFAULT_JUDGE_MODEL, RECORDED_JUDGE_MODEL, SAMPLE_TRACE
from evals.environment import base_url_in_environment
from evals.errors import ConfigError
from evals.judging.prices import TABLE, load_prices
from evals.plugin.option_errors import option_error, policy_error
from evals.plugin.options import GATES_INI
from evals.policy import CoveragePolicy
from evals.runs.provenance import new_run_id
from evals.untrusted import for_terminal


def config_from(config: pytest.Config) -> RunConfig:
    """Return the validated run configuration.

    Args:
        config: pytest's, after parsing.

    Raises:
        ConfigError: an option is out of range, or two contradict each other.
    """
    option = config.option
    key = api_key_in_environment()
    # A plan needs none: nothing is sent.
    has_key = key is not None or (option.eval_plan and option.eval_judge in {"live", "batch"})
    mode, why = resolve_judge_mode(option.eval_judge, has_key=has_key)
    if mode != "recorded" and key is not None:
        check_api_key(key)
    _check_export(config, mode)
    if not option.eval_recordings.is_dir():
        raise ConfigError(
            "--recordings", str(option.eval_recordings), "a folder", "Name a folder, or drop it."
        )
    try:
        run_config = RunConfig(
            judge_mode=mode, judge_mode_why=why, api_key=key, **_values_of(config, mode)
        )
    except ValidationError as error:
        raise option_error(error) from error
    _check_priced(run_config)
    return run_config


def _check_export(config: pytest.Config, mode: JudgeMode) -> None:
    option = config.option
    if option.eval_export is None:
        return
    if option.eval_plan:
        raise ConfigError(
            "--plan", "--export-requests beside it", "one of them", "Drop the other one."
        )
    if mode != "recorded":
        raise ConfigError(
            "--export-requests",
            "a live run",
            "a run that makes no calls",
            "Add --judge recorded (and --judge-model with the model that will answer).",
        )


def _values_of(config: pytest.Config, mode: JudgeMode) -> dict[str, Any]:
    """Return the fields of ``RunConfig`` that options and the environment give as they are."""
    option = config.option
    model, run_id = option.eval_judge_model, option.eval_run_id
    if model is None:
        model = RECORDED_JUDGE_MODEL if mode == "recorded" else DEFAULT_JUDGE_MODEL
    if run_id is None:
        run_id = new_run_id(datetime.now(UTC))
    return {
        "trace_paths": tuple(option.eval_traces or (_sample(config),)),
        "trace_format": option.eval_trace_format,
        "skip_bad_records": option.eval_skip_bad,
        "dataset_shape": option.eval_dataset_shape,
        "judge_model": model,
        "reasoning": option.eval_reasoning,
        "judge_repeat": option.eval_repeat,
        "max_in_flight": option.eval_max_in_flight,
        "call_timeout_s": option.eval_call_timeout_s,
        "max_attempts": option.eval_max_attempts,
        "batch_poll_s": option.eval_batch_poll_s,
        "limits": {
            "max_calls": option.eval_max_calls,
            "max_tokens": option.eval_max_tokens,
            "max_cost_usd": option.eval_max_cost,
        },
        "plan": option.eval_plan,
        "base_url": base_url_in_environment(),
        "store_path": option.eval_store,
        "recordings_dir": option.eval_recordings,
        "run_id": run_id,
        "reports_dir": option.eval_reports_dir,
        "allow_unjudged": option.eval_allow_unjudged,
        "gates": (*config.getini(GATES_INI), *option.eval_gates),
        "require_calibration": option.eval_require_calibration,
        "over_inference_fails": not option.eval_over_inference_passes,
        "coverage_policy": _policy_from(option.eval_coverage_policy),
        "export_dir": option.eval_export,
        "gallery_path": option.eval_gallery,
    }


def _check_priced(config: RunConfig) -> None:
    if config.limits.max_cost_usd is None or config.judge_mode == "recorded":
        return
    prices = load_prices()
    if prices.of_model(config.judge_model) is None:
        raise ConfigError(
            "--max-cost",
            f"no price for {for_terminal(config.judge_model)!r} among"
            f" {', '.join(sorted(prices.models))}",
            f"a row of the model in pyproject.toml, table [{TABLE}.models]",
            "Add one with its prices and today's date, or use --max-calls or --max-tokens.",
        )


def _policy_from(settings: list[str]) -> CoveragePolicy:
    values: dict[str, str] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        known = list(CoveragePolicy.model_fields)
        if not sign or name.strip() not in known:
            near = difflib.get_close_matches(name.strip(), known, n=1)
            raise ConfigError(
                "--coverage-policy",
                for_terminal(repr(setting)),
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
        raise policy_error(error) from error


def _sample(config: pytest.Config) -> Path:
    # Relative, so that a report of the sample says the same on every machine.
    return Path(os.path.relpath(SAMPLE_TRACE, config.invocation_params.dir))

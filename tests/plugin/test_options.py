"""Options as pytest has parsed them: what is refused, in which words, and what judges nothing."""

from pathlib import Path

import pytest

from evals.errors import ConfigError
from evals.plugin.items import collects, may_judge, only_plan_setup
from evals.plugin.settings import config_from


@pytest.fixture
def config(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> pytest.Config:
    """Return the configuration of this run of pytest, where options may be set."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return pytestconfig


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("max_in_flight", 0, "--max-in-flight: found 0; wanted a whole number from 1 to 1000."),
        ("max_in_flight", 1001, "--max-in-flight: found 1001; wanted a whole number from 1 to"),
        ("call_timeout_s", 0.0, "--call-timeout-s: found 0.0; wanted a finite number above 0."),
        ("call_timeout_s", float("inf"), "--call-timeout-s: found inf; wanted a finite number"),
        ("batch_poll_s", -1.0, "--batch-poll-s: found -1.0; wanted a finite number above 0."),
        ("max_attempts", 0, "--max-attempts: found 0; wanted a whole number of 1 or more."),
        ("repeat", -1, "--judge-repeat: found -1; wanted a whole number of 0 or more."),
        ("max_calls", -1, "--max-calls: found -1; wanted a whole number of 0 or more."),
        ("max_tokens", -1, "--max-tokens: found -1; wanted a whole number of 0 or more."),
        ("max_cost", -1.0, "--max-cost: found -1.0; wanted a finite number of 0 or more."),
        ("max_cost", float("nan"), "--max-cost: found nan; wanted a finite number of 0 or more."),
        ("allow_unjudged", 2.0, "--allow-unjudged: found 2.0; wanted a number from 0 to 1."),
        ("run_id", "../x", "--run-id: found '../x'; wanted 1 to 81 letters, digits, dots"),
        # As where a script's variable is not set: no other name or model stands in for it.
        ("run_id", "", "--run-id: found ''; wanted 1 to 81 letters"),
        ("judge_model", "", "--judge-model: found ''; wanted the id of a model."),
        ("coverage_policy", ["minor_weight=x"], "minor_weight: found 'x'; wanted a number from 0"),
        ("coverage_policy", ["diverse_topics=0"], "found '0'; wanted a whole number of 1 or more."),
        ("coverage_policy", ["x=1"], "--coverage-policy: found 'x=1'; wanted NAME=NUMBER with one"),
    ],
)
def test_a_value_out_of_range_is_told_with_its_range(
    option: str,
    value: object,
    said: str,
    config: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config.option, f"eval_{option}", value)
    with pytest.raises(ConfigError) as caught:
        config_from(config)
    assert said in str(caught.value)
    assert "Correct the" in caught.value.todo


def test_options_as_they_are_by_default_are_in_range(
    config: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.option, "eval_run_id", "run-1")
    assert config_from(config).run_dir == Path(config.option.eval_reports_dir, "run-1")


@pytest.mark.parametrize(
    "option",
    ["collectonly", "setupplan", "setuponly", "showfixtures", "show_fixtures_per_test"],
)
def test_what_only_shows_tests_judges_nothing(
    option: str, config: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert may_judge(config)
    assert hasattr(config.option, option)
    monkeypatch.setattr(config.option, option, True)
    assert not may_judge(config)
    monkeypatch.delattr(config.option, option)  # as where its plugin is left out
    assert may_judge(config)


@pytest.mark.parametrize("option", ["help", "version", "markers", "cacheshow"])
def test_what_says_something_of_pytest_itself_is_no_run(
    option: str, config: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert collects(config)
    assert hasattr(config.option, option)
    monkeypatch.setattr(config.option, option, True)
    assert not collects(config)


def test_setup_only_plans_the_setup_since_it_would_wait_for_what_nobody_judges(
    config: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.option, "setupplan", False)
    only_plan_setup(config)
    assert not config.option.setupplan
    monkeypatch.setattr(config.option, "setuponly", True)
    only_plan_setup(config)
    assert config.option.setupplan

"""Prices: strictly read, by model and snapshot, and None where there is none."""

from datetime import date
from pathlib import Path

import pytest

from evals.defaults import DEFAULT_JUDGE_MODEL
from evals.errors import ConfigError
from evals.judging.prices import TokenCounts, load_prices

GOOD = """
[tool.conclusion-evals.prices]
as_of = 2026-11-30
batch_factor = 0.5

[tool.conclusion-evals.prices.models.claude-judge]
input = 2
output = 10.0
cache_read = 0.1
cache_write = 2.5

[tool.conclusion-evals.prices.models.claude-long]
input = 0.1
output = 0.5
cache_read = 0.01
cache_write = 0.125

[tool.conclusion-evals.prices.models.claude-long.long_prompt]
over_tokens = 100_000
input = 0.5
output = 2.5
cache_read = 0.05
cache_write = 0.625
"""


@pytest.fixture
def prices_file(tmp_path: Path) -> Path:
    path = tmp_path / "pyproject.toml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_the_shipped_table_is_dated_and_has_the_default_judge() -> None:
    prices = load_prices()
    assert prices.as_of > date(2026, 1, 1)
    row = prices.of_model(DEFAULT_JUDGE_MODEL)
    assert row is not None
    assert row.cache_read < row.input < row.cache_write < row.output


def test_every_kind_of_token_has_its_own_price(prices_file: Path) -> None:
    prices = load_prices(prices_file)
    tokens = TokenCounts(input=1_000_000, cache_read=3_000_000, cache_write=200_000, output=50_000)
    # 2.00 + 0.30 + 0.50 + 0.50
    assert prices.cost_usd("claude-judge", tokens, in_batch=False) == pytest.approx(3.30)
    assert prices.cost_usd("claude-judge", tokens, in_batch=True) == pytest.approx(1.65)


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("claude-judge", True),
        ("claude-judge-20260101", True),
        ("claude-judge-2026", False),
        ("claude-judge-5", False),
        ("claude-judge-20260101-fast", False),
        ("claude", False),
    ],
)
def test_a_dated_snapshot_has_its_models_price_and_no_other_name_has(
    model: str, prices_file: Path, *, known: bool
) -> None:
    cost = load_prices(prices_file).cost_usd(model, TokenCounts(500_000, 0, 0, 0), in_batch=False)
    assert cost == (1.0 if known else None)


@pytest.mark.parametrize(
    ("tokens", "cost"),
    [
        (TokenCounts(60_000, 30_000, 10_000, 1_000), 0.006 + 0.0003 + 0.00125 + 0.0005),
        (TokenCounts(60_000, 30_000, 10_001, 1_000), 0.03 + 0.0015 + 0.006250625 + 0.0025),
    ],
    ids=["up to the bound", "over it"],
)
def test_a_long_prompt_counts_with_all_that_was_read(
    tokens: TokenCounts, cost: float, prices_file: Path
) -> None:
    found = load_prices(prices_file).cost_usd("claude-long", tokens, in_batch=False)
    assert found == pytest.approx(cost)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("as_of = 2026-11-30", "", "prices.as_of: found no such key"),
        ("as_of = 2026-11-30", "as_of = '2026-11-30'", "as_of: found '2026-11-30'"),
        ("batch_factor = 0.5", "batch_factor = 0", "batch_factor: found 0"),
        ("output = 10.0", "", "models.claude-judge.output: found no such key"),
        ("output = 10.0", "output = '10'", "models.claude-judge.output: found '10'"),
        ("output = 10.0", "output = -1", "models.claude-judge.output: found -1"),
        ("output = 10.0", "output = nan", "models.claude-judge.output: found nan"),
        ("output = 10.0", "output = 10\nspeed = 3", "models.claude-judge.speed: found 3"),
        ("over_tokens = 100_000", "", "claude-long.long_prompt.over_tokens: found no such key"),
        ("tool.conclusion-evals.prices", "tool.else", "prices.as_of: found no such key"),
        ("as_of =", "as_of", "found Expected '='"),
    ],
)
def test_a_table_that_is_not_as_it_should_be_is_named(
    old: str, new: str, told: str, prices_file: Path
) -> None:
    prices_file.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_prices(prices_file)
    assert told in str(caught.value)
    assert str(prices_file) in str(caught.value)
    assert "tool.conclusion-evals.prices" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml, table \[tool\.conclusion-evals\.prices\]"):
        load_prices(tmp_path / "gone.toml")

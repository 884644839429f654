"""What a call costs: the dated price table in ``pyproject.toml``.

The table is read and never guessed: a model without a row has no price, and a cost that rests on
such a model is None, never 0.
"""

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, ValidationError

from evals.defaults import ROOT
from evals.errors import ConfigError
from evals.records import Record
from evals.untrusted import for_terminal

PRICES_FILE = ROOT / "pyproject.toml"
TABLE = "tool.conclusion-evals.prices"
_SNAPSHOT = re.compile(r"-\d{8}")
_MILLION = 1_000_000

Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""US dollars for a million tokens."""


class TokenCounts(NamedTuple):
    """Tokens of one answer or of many, as the API counts them: no token is in two of them."""

    input: int
    """Read in full: neither from the cache nor written to it."""
    cache_read: int
    cache_write: int
    output: int

    @property
    def read(self) -> int:
        """All that the model read, from the cache or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def all(self) -> int:
        """Read and written."""
        return self.read + self.output

    def plus(self, other: "TokenCounts") -> "TokenCounts":
        """Return the sum."""
        return TokenCounts(*(one + two for one, two in zip(self, other, strict=True)))


NO_TOKENS = TokenCounts(0, 0, 0, 0)


class _Strict(Record):
    model_config = ConfigDict(strict=True)


class TokenPrices(_Strict):
    """Prices of the four kinds of token."""

    input: Price
    output: Price
    cache_read: Price
    cache_write: Price
    """Into the cache of five minutes, which is the one that requests ask for."""

    def cost_usd(self, tokens: TokenCounts) -> float:
        """Return the price of ``tokens``, in US dollars, outside a batch."""
        dollars = (
            tokens.input * self.input
            + tokens.cache_read * self.cache_read
            + tokens.cache_write * self.cache_write
            + tokens.output * self.output
        )
        return dollars / _MILLION


class LongPromptPrices(TokenPrices):
    """Prices of every token of a call whose prompt is longer than a bound."""

    over_tokens: int = Field(gt=0)
    """The bound, in tokens read: from the cache or not."""


class ModelPrices(TokenPrices):
    """The row of one model."""

    long_prompt: LongPromptPrices | None = None
    """None: one price whatever the length, which is what most models have."""

    def for_prompt_of(self, read_tokens: int) -> TokenPrices:
        """Return the prices of a call whose prompt has this many tokens."""
        long = self.long_prompt
        return self if long is None or read_tokens <= long.over_tokens else long


class PriceTable(_Strict):
    """All prices, as of one day."""

    as_of: date
    batch_factor: float = Field(gt=0, le=1)
    """What a call in a Message Batch costs, of what it costs by itself."""
    models: dict[str, ModelPrices]
    """By model id, without the date of a snapshot."""

    def of_model(self, model: str) -> ModelPrices | None:
        """Return the row of a model, or of the alias that a dated snapshot goes by; else None."""
        own = self.models.get(model)
        return own or self.models.get(_alias_of(model))

    def cost_usd(self, model: str, tokens: TokenCounts, *, in_batch: bool) -> float | None:
        """Return what one answer cost, in US dollars; None where the model has no price.

        Args:
            model: which model answered.
            tokens: of this one answer: a long prompt can have a price of its own.
            in_batch: whether it came from a Message Batch.
        """
        prices = self.of_model(model)
        if prices is None:
            return None
        factor = self.batch_factor if in_batch else 1.0
        return prices.for_prompt_of(tokens.read).cost_usd(tokens) * factor


def load_prices(path: Path = PRICES_FILE) -> PriceTable:
    """Read the price table.

    Raises:
        ConfigError: the file cannot be read, or the table is not there or not as it should be.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path}, table [{TABLE}]", str(error), "a TOML file", "Restore it from git."
        ) from error
    try:
        return PriceTable.model_validate(_part(document, TABLE.split(".")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join((TABLE, *(str(part) for part in first["loc"])))
        found = "no such key" if first["type"] == "missing" else repr(first["input"])
        raise ConfigError(
            f"{path}, {for_terminal(name)}",
            for_terminal(found, 80),
            f"{first['msg']}: as_of (a date), batch_factor, and for each model input, output,"
            " cache_read and cache_write in US dollars for a million tokens",
            "Correct the table.",
        ) from None


def _part(document: dict[str, Any], names: list[str]) -> dict[str, Any]:
    part: Any = document
    for name in names:
        part = part[name] if isinstance(part, dict) and name in part else {}
    # A table that is not there has no key, and is told of as such.
    return part if isinstance(part, dict) else {}


def _alias_of(model: str) -> str:
    return model[:-9] if _SNAPSHOT.fullmatch(model[-9:]) else model

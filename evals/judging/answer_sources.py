"""Where answers made elsewhere are read from, one by one and as often as need be."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field

from evals.errors import ExchangeError
from evals.judging.exchange import read_lines


@dataclass(frozen=True)
class Given:
    """An answer."""

    custom_id: str
    message: str
    """A Message as JSON text."""


@dataclass(frozen=True)
class NotGiven:
    """A result without an answer."""

    custom_id: str
    kind: str
    """``errored``, ``expired`` or ``canceled``."""


@dataclass(frozen=True)
class Unusable:
    """Something that is no answer."""

    what: str


Item = Given | NotGiven | Unusable


class AnswerSource(Protocol):
    """Answers, never held all at once."""

    @property
    def where(self) -> str:
        """What an error names."""
        ...

    def items(self) -> Iterator[Item]:
        """Read from the beginning.

        Raises:
            ExchangeError: it cannot be read.
        """
        ...


@dataclass(frozen=True)
class BatchResults:
    """Message Batches result files: several where the export was more than one batch."""

    paths: tuple[Path, ...]

    @property
    def where(self) -> str:
        """The paths."""
        return ", ".join(map(str, self.paths))

    def items(self) -> Iterator[Item]:
        """Yield each line's result."""
        for path in self.paths:
            for _, line in read_lines(path, _ResultLine):
                if isinstance(line.result, _Succeeded):
                    text = json.dumps(line.result.message, ensure_ascii=False)
                    yield Given(line.custom_id, text)
                else:
                    yield NotGiven(line.custom_id, line.result.type)


@dataclass(frozen=True)
class AnswerFiles:
    """A folder of raw answers, ``<custom_id>.<anything>``, UTF-8."""

    folder: Path
    served_model: str
    """Who answered: files do not say."""

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    def items(self) -> Iterator[Item]:
        """Yield each file's answer, as a Message."""
        try:
            for path in sorted(self.folder.iterdir()):
                if not path.name.startswith("."):
                    yield self._item(path)
        except OSError as error:
            raise ExchangeError(
                str(self.folder), str(error), "a readable folder of answers", "Check the path."
            ) from error

    def _item(self, path: Path) -> Item:
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            return Unusable(f"{path.name}, not UTF-8 at byte {error.start}")
        if not text.strip():
            return Unusable(f"{path.name}, empty: delete it, and it counts as missing")
        message = {
            "id": None,
            "type": "message",
            "role": "assistant",
            "model": self.served_model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": None,
        }
        return Given(path.name.partition(".")[0], json.dumps(message, ensure_ascii=False))


class _Succeeded(BaseModel):
    type: Literal["succeeded"]
    message: dict[str, Any]


class _Failed(BaseModel):
    type: Literal["errored", "expired", "canceled"]


class _ResultLine(BaseModel):
    custom_id: str
    result: Annotated[_Succeeded | _Failed, Field(discriminator="type")]

"""What a row lacks: every answer that it had to do without, wherever in the row that stands."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from evals.records import Call, Provenance, Unjudged

_WITHOUT = frozenset({str, int, float, bool, type(None), Call, Provenance})
"""Most values of a row: passed over first, for there are a hundred a row, and no gap in them."""


def gaps_of(value: Any) -> Iterator[Unjudged]:
    """Yield every ``Unjudged`` in a record, at any depth."""
    if type(value) in _WITHOUT:
        return
    if isinstance(value, Unjudged):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from gaps_of(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from gaps_of(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from gaps_of(item)

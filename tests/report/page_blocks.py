"""The JSON that a paged page carries, read back out of its HTML."""

import json
import re
from typing import Any


def block(page: str, name: str) -> str:
    """Return the text of one block."""
    found = re.search(
        rf'<script type="application/jsonl?" id="{name}">(.*?)</script>', page, re.DOTALL
    )
    assert found is not None
    return found[1]


def index_of(page: str) -> dict[str, Any]:
    """Return what the list is made of."""
    index: dict[str, Any] = json.loads(block(page, "index"))
    return index


def lines(page: str, name: str = "rows") -> list[dict[str, Any]]:
    """Return the values of a block that is read by line."""
    return [json.loads(line) for line in block(page, name).split("\n") if line]

"""What a page carries, read back out of its HTML: its text as a reader has it, its JSON."""

import json
import re
from html.parser import HTMLParser
from typing import Any


class Reader(HTMLParser):
    """Collects tags, attributes and text as a browser would tell them apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        self.text += " " if tag in {"td", "th"} else ""

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


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

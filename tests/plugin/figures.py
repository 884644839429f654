"""What a finished run came to, in every place that says so: to compare two runs."""

import html
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Finished


@dataclass(frozen=True)
class Figures:
    """Equal where two runs say the same of the same items, in whatever order."""

    code: int
    summary: dict[str, Any]
    rows: tuple[str, ...]
    """Lines of ``rows.jsonl`` without the run's id, sorted."""
    counts: dict[str, Any]
    """Of ``run.json``."""
    last_line: tuple[str, ...]
    """``3 sound``, as the terminal counts."""
    junit: tuple[str, ...]
    """One an item: its id and what JUnit says of it."""
    page: Counter[str]
    """Rows of ``report.html``, by item and result."""
    page_counts: tuple[str, ...]
    """What its filters say."""
    posts: int


def figures_of(run: Finished, junit: Path, api: MessagesApi) -> Figures:
    """Read everything; every POST must have been answered, and none twice."""
    counts = api.counts()
    assert counts["posts"] == len(counts["answered"]) == sum(counts["answered"].values())
    page = (run.run_dir / "report.html").read_text(encoding="utf-8")
    listed = ("collected", "selected", "complete", "calls_sent", "http_attempts", "models_served")
    return Figures(
        code=run.code,
        summary=run.summary,
        rows=tuple(sorted(map(_without_run, run.rows))),
        counts={name: run.info[name] for name in listed},
        last_line=tuple(sorted(re.findall(r"\d+ [a-z]+", _last_line(run)))),
        junit=junit_of(junit),
        page=_rows_of(page),
        page_counts=tuple(re.findall(r"\d+ [A-Z][a-z ]+(?=,?</span>)", page)),
        posts=counts["posts"],
    )


def junit_of(path: Path) -> tuple[str, ...]:
    """Return ``ID: OUTCOME`` of every test case, sorted."""
    return tuple(sorted(map(_case, ET.parse(path).iter("testcase"))))


def _case(element: ET.Element) -> str:
    said = [child.tag for child in element if child.tag != "properties"]
    said += [
        str(each.get("value"))
        for each in element.iter("property")
        if each.get("name") in {"outcome", "unjudged_reason"}
    ]
    return f"{element.get('classname')}::{element.get('name')}: {' '.join(said)}"


def _without_run(row: dict[str, Any]) -> str:
    del row["provenance"]["run_id"]
    return json.dumps(row, sort_keys=True)


def _last_line(run: Finished) -> str:
    return run.output.strip().splitlines()[-1].split(" in ")[0]


def _rows_of(page: str) -> Counter[str]:
    blob = re.search(r'data-jsonblob="([^"]*)"', page)
    assert blob is not None
    tests: dict[str, list[dict[str, Any]]] = json.loads(html.unescape(blob[1]))["tests"]
    return Counter(f"{key}: {row['result']}" for key, rows in tests.items() for row in rows)

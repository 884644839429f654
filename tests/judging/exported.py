"""Requests to export, and JSON lines."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.judging.helpers import request_for

A, B, C = (request_for(name) for name in ("alice", "bob ☃ \u2028", "carol"))
REPEATED = request_for("alice", repeat=2, purpose="premise.pass_2")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, values: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in values), encoding="utf-8")
    return path

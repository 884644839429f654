"""What the coverage tests share: a judge that answers from a script, and a reader of requests."""

import json
from typing import Any

from evals.judging.request import JudgeRequest
from tests import scripted
from tests.scripted import Reply, Script

__all__ = ["Reply", "Script", "ScriptedJudge", "inside"]


class ScriptedJudge(scripted.ScriptedJudge):
    """Takes purposes without ``coverage.``."""

    def __init__(self, script: Script, *, turns: int = 1) -> None:
        super().__init__("coverage", script, turns=turns)


def inside(request: JudgeRequest, tag: str) -> list[Any]:
    """Return what a request's user text holds between two tags: one JSON value a line."""
    text = request.user.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
    return [json.loads(line) for line in text.splitlines()]

"""What the coverage tests share: a judge that answers from a script, and a reader of requests."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse
from evals.records import Call

Reply = str | dict[str, Any] | Exception
Script = Mapping[str, Reply | Callable[[JudgeRequest], Reply]]
"""Purpose without ``coverage.`` -> what to answer, or a function of the request."""


class ScriptedJudge:
    """Answers from a script by purpose; checks guards as a real judge does; records requests."""

    def __init__(self, script: Script, *, turns: int = 1) -> None:
        self.script = script
        self.turns = turns
        """Turns of the event loop that an answer takes."""
        self.requests: list[JudgeRequest] = []
        self.cancelled: list[str] = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        purpose = request.purpose.removeprefix("coverage.")
        if request.guard is not None:
            request.guard.check(request.params)
        self.requests.append(request)
        try:
            for _ in range(self.turns):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(purpose)
            raise
        reply = self.script[purpose]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        call = Call(
            purpose=request.purpose,
            request_hash=request.request_hash,
            prompt_hash=request.prompt.prompt_hash,
            source="live",
            model_asked=request.settings.model,
            model_served=request.settings.model,
            input_tokens=1,
            cache_read_tokens=0,
            cache_write_tokens=0,
            output_tokens=1,
            attempts=1,
        )
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return JudgeResponse(text=text, stop_reason="end_turn", call=call)

    def asked(self, purpose: str) -> list[JudgeRequest]:
        """Return the requests with this purpose (without ``coverage.``), in order."""
        return [item for item in self.requests if item.purpose == f"coverage.{purpose}"]

    @property
    def purposes(self) -> list[str]:
        """Every purpose asked with (without ``coverage.``), sorted, with repeats."""
        return sorted(item.purpose.removeprefix("coverage.") for item in self.requests)


def inside(request: JudgeRequest, tag: str) -> list[Any]:
    """Return what a request's user text holds between two tags: one JSON value a line."""
    text = request.user.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
    return [json.loads(line) for line in text.splitlines()]

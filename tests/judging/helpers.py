"""What the judging tests share: requests, messages, a scripted transport, a clock that is told."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from evals.judging.isolation import Guard
from evals.judging.prompts import Prompt
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.transport import AttemptError, Reply
from evals.records import ReasoningMode

MODEL = "claude-judge"
PROMPT = Prompt(name="premise/pass_1", system="Judge it.", user_template="$x", prompt_hash="p" * 64)


def request_for(
    conclusion: str,
    *,
    model: str = MODEL,
    repeat: int = 0,
    purpose: str = "premise.pass_1",
    reasoning: ReasoningMode = "off",
    guard: Guard | None = None,
) -> JudgeRequest:
    """Return a request that the local server answers like pass 1."""
    return JudgeRequest(
        purpose=purpose,
        settings=JudgeSettings(model=model, reasoning=reasoning, repeat=repeat),
        prompt=PROMPT,
        user=f"<conclusion>\n{json.dumps(conclusion)}\n</conclusion>",
        answer_schema={"type": "object", "properties": {"reconstruction": {"type": "string"}}},
        max_tokens=100,
        guard=guard,
    )


def message_for(text: str, *, model: str = MODEL, **changed: Any) -> str:
    """Return a Message as JSON text."""
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 5},
    }
    return json.dumps(message | changed)


Outcome = str | Reply | AttemptError | Callable[[], Any]
"""A body, an answer with headers, a failure, or what to await first."""


class ScriptedTransport:
    """Gives one outcome after the other, and the last one for ever."""

    server = "https://judge.example"

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.sent: list[dict[str, Any]] = []
        self.closed = False

    async def send(self, body: bytes) -> Reply:
        outcome = self.outcomes[min(len(self.sent), len(self.outcomes) - 1)]
        self.sent.append(json.loads(body))
        if isinstance(outcome, AttemptError):
            raise AttemptError(
                outcome.what,
                outcome.kind,
                retry_after_s=outcome.retry_after_s,
                timed_out=outcome.timed_out,
                unreachable=outcome.unreachable,
                headers=outcome.headers,
            )
        if isinstance(outcome, str | Reply):
            await asyncio.sleep(0)
            return Reply(outcome, {}) if isinstance(outcome, str) else outcome
        answer = await outcome()
        assert isinstance(answer, str)
        return Reply(answer, {})

    async def aclose(self) -> None:
        self.closed = True


async def settle() -> None:
    """Let every other task run until it waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept_s: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        until_s = self.now_s + seconds
        await asyncio.sleep(0)
        self.now_s = max(self.now_s, until_s)


class HeldClock(Clock):
    """Time that passes only when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        awake = asyncio.Event()
        self._sleepers.append((self.now_s + seconds, awake))
        await awake.wait()

    async def pass_to(self, now_s: float) -> None:
        self.now_s = now_s
        for until_s, awake in self._sleepers:
            if until_s <= now_s:
                awake.set()
        await settle()

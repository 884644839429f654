"""Windows, calls and a judge that answers from a script: what tests of every instrument share."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse
from evals.records import (
    Call,
    Conclusion,
    Message,
    Provenance,
    ReasoningMode,
    Window,
    conclusion_id_of,
    window_text_hash_of,
)

NOON = datetime(2026, 6, 4, 12, 0, 0, tzinfo=UTC)
Said = str | tuple[str, str]
"""A text by or about vince, or a pair (peer, text)."""
Reply = str | dict[str, Any] | Exception
Script = Mapping[str, Reply | Callable[[JudgeRequest], Reply]]
"""Purpose without its instrument -> what to answer, or a function of the request."""


def window_of(
    messages: Sequence[Said],
    conclusions: Sequence[Said],
    *,
    earlier: Sequence[Said] | None = None,
    peer_id: str | None = "vince",
    window_id: str = "w1",
    derived_at: datetime | None = NOON + timedelta(hours=1),
) -> Window:
    """Return a window; messages are ``m1``, ``m2``, … and one minute apart from NOON + 1 min."""
    listed = _messages(messages, "m")
    return Window(
        window_id=window_id,
        conversation_id="talk-1",
        peer_id=peer_id,
        messages=listed,
        window_text_hash=window_text_hash_of(listed),
        window_reconstructed=False,
        dataset_shape="production",
        earlier_messages=None if earlier is None else _messages(earlier, "e"),
        conclusions=tuple(
            Conclusion(
                conclusion_id=conclusion_id_of(window_id, ordinal, text),
                ordinal=ordinal,
                peer_id=peer,
                text=text,
                deriver_prompt_hash="d" * 64,
                deriver_model_id="deriver-1",
                derived_at=derived_at,
            )
            for ordinal, (peer, text) in enumerate(_pairs(conclusions))
        ),
    )


def _messages(texts: Sequence[Said], prefix: str) -> tuple[Message, ...]:
    return tuple(
        Message(
            message_id=f"{prefix}{index}",
            peer_id=peer,
            text=text,
            sent_at=NOON + timedelta(minutes=index),
        )
        for index, (peer, text) in enumerate(_pairs(texts), start=1)
    )


def _pairs(texts: Sequence[Said]) -> list[tuple[str, str]]:
    return [("vince", item) if isinstance(item, str) else item for item in texts]


def call_of(purpose: str, request_hash: str, **changed: Any) -> Call:
    """Return an answer from the store: 100 tokens in, 10 out."""
    fields: dict[str, Any] = {
        "purpose": purpose,
        "request_hash": request_hash,
        "prompt_hash": "f" * 64,
        "source": "store",
        "model_asked": "judge-1",
        "model_served": "judge-1",
        "input_tokens": 100,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 10,
        "attempts": 0,
    }
    return Call(**(fields | changed))


def provenance_of(window_id: str = "w1") -> Provenance:
    """Return the provenance of a row that was made of nothing."""
    return Provenance(
        run_id="run-1",
        bench_version="0",
        judge_model_id="judge-1",
        judge_prompt_hashes={},
        reasoning_enabled=False,
        judge_repeat=0,
        dataset_shape="benchmark",
        git_commit=None,
        git_dirty=None,
        window_id=window_id,
        window_text_hash="0" * 64,
        window_message_ids=(),
        message_timestamps=(),
        window_reconstructed=True,
        peer_id=None,
        deriver_prompt_hash=None,
        deriver_model_id=None,
        derived_at=None,
    )


def run_context(
    *, reasoning: ReasoningMode = "off", over_inference_fails: bool = True
) -> RunContext:
    """Return what the cases of a run share."""
    return RunContext(
        run_id="run-1",
        bench_version="0.1.0",
        git_commit="abc",
        git_dirty=True,
        settings=JudgeSettings(model="judge-1", reasoning=reasoning),
        over_inference_fails=over_inference_fails,
    )


class ScriptedJudge:
    """Answers from a script by purpose; checks guards as a real judge does; records requests."""

    def __init__(
        self, instrument: str, script: Script, *, turns: int = 1, slow: str | None = None
    ) -> None:
        """Take the script.

        Args:
            instrument: what every purpose begins with, as ``coverage``.
            script: see ``Script``.
            turns: turns of the event loop that an answer takes.
            slow: a purpose whose answers take five times as many.
        """
        self._prefix = f"{instrument}."
        self.script = script
        self.turns = turns
        self._slow = slow
        self.requests: list[JudgeRequest] = []
        self.cancelled: list[str] = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Answer as the script says for the request's purpose."""
        purpose = request.purpose.removeprefix(self._prefix)
        if request.guard is not None:
            request.guard.check(request.params)
        self.requests.append(request)
        try:
            for _ in range(self.turns * (5 if purpose == self._slow else 1)):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(purpose)
            raise
        reply = self.script[purpose]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        call = call_of(
            request.purpose,
            request.request_hash,
            prompt_hash=request.prompt.prompt_hash,
            source="live",
            model_asked=request.settings.model,
            model_served=request.settings.model,
            attempts=1,
        )
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return JudgeResponse(text=text, stop_reason="end_turn", call=call)

    def asked(self, purpose: str) -> list[JudgeRequest]:
        """Return the requests with this purpose, in order."""
        return [item for item in self.requests if item.purpose == self._prefix + purpose]

    @property
    def purposes(self) -> list[str]:
        """Every purpose asked with, sorted, with repeats."""
        return sorted(item.purpose.removeprefix(self._prefix) for item in self.requests)

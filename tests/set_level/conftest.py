"""Builders of windows and rows, and a scripted judge, that the set-level tests share."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse
from evals.records import (
    Call,
    Conclusion,
    Message,
    Provenance,
    Unjudged,
    Window,
    conclusion_id_of,
    window_text_hash_of,
)
from evals.set_level.case import set_level_cases
from evals.set_level.render import load_set_level_prompts
from evals.set_level.row import SetLevelRow
from evals.set_level.schema import SetIssue

NOON = datetime(2026, 6, 4, 12, 0, 0, tzinfo=UTC)
Said = str | tuple[str, str]
Reply = str | dict[str, Any] | Exception
Script = Reply | Callable[[JudgeRequest], Reply]


def _pairs(texts: Sequence[Said]) -> list[tuple[str, str]]:
    return [("vince", item) if isinstance(item, str) else item for item in texts]


def _make_window(
    conclusions: Sequence[Said] = ("vince rows", "vince sings"),
    messages: Sequence[Said] = ("I row and I sing",),
    *,
    window_id: str = "w1",
    derived_at: datetime | None = NOON,
) -> Window:
    said = tuple(
        Message(
            message_id=f"m{index}",
            peer_id=peer,
            text=text,
            sent_at=NOON + timedelta(minutes=index),
        )
        for index, (peer, text) in enumerate(_pairs(messages), start=1)
    )
    return Window(
        window_id=window_id,
        conversation_id="talk-1",
        peer_id="vince",
        messages=said,
        window_text_hash=window_text_hash_of(said),
        window_reconstructed=False,
        dataset_shape="production",
        earlier_messages=None,
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


def _call(request_hash: str, **changed: Any) -> Call:
    fields: dict[str, Any] = {
        "purpose": "set_level.judge",
        "request_hash": request_hash,
        "prompt_hash": "f" * 64,
        "source": "live",
        "model_asked": "judge-1",
        "model_served": "judge-1",
        "input_tokens": 100,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 10,
        "attempts": 1,
    }
    return Call(**(fields | changed))


class ScriptedJudge:
    """Gives one scripted answer to whatever it is asked, and keeps the requests."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[JudgeRequest] = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        self.requests.append(request)
        await asyncio.sleep(0)
        reply = self.script(request) if callable(self.script) else self.script
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        call = _call(request.request_hash, prompt_hash=request.prompt.prompt_hash)
        return JudgeResponse(text=text, stop_reason="end_turn", call=call)


def _judge_window(
    window: Window, script: Script, *, reasoning: Literal["off", "adaptive"] = "off"
) -> tuple[SetLevelRow, list[JudgeRequest]]:
    (case,) = set_level_cases([window], load_set_level_prompts())
    context = RunContext(
        run_id="run-1",
        bench_version="0.1.0",
        git_commit="abc",
        git_dirty=True,
        settings=JudgeSettings(model="judge-1", reasoning=reasoning),
        over_inference_fails=True,
    )
    judge = ScriptedJudge(script)
    return asyncio.run(case.evaluate(judge, context)), judge.requests


def _issue(
    *ids: str, kind: str = "REDUNDANCY", severity: str = "LOW", evidence: str = "the same"
) -> dict[str, Any]:
    return {
        "kind": kind,
        "severity": severity,
        "conclusion_ids": list(ids),
        "evidence": evidence,
    }


def _make_row(
    ids: str,
    issues: Sequence[dict[str, Any]] | None,
    *,
    repeats: Sequence[str] = (),
    reason: str = "refused",
    calls: Sequence[Call] = (),
    name: str = "w",
) -> SetLevelRow:
    unjudged = {"reason": reason, "detail": "why"}
    provenance = Provenance(
        run_id="run-1",
        bench_version="0",
        judge_model_id="judge-1",
        judge_prompt_hashes={},
        reasoning_enabled=False,
        judge_repeat=0,
        dataset_shape="benchmark",
        git_commit=None,
        git_dirty=None,
        window_id=name,
        window_text_hash="0" * 64,
        window_message_ids=(),
        message_timestamps=(),
        window_reconstructed=True,
        peer_id=None,
        deriver_prompt_hash=None,
        deriver_model_id=None,
        derived_at=None,
    )
    return SetLevelRow(
        kind="batch",
        instrument="set_level",
        case_id=name,
        outcome="unjudged" if issues is None else "scored",
        unjudged=Unjudged.model_validate(unjudged) if issues is None else None,
        calls=tuple(calls),
        provenance=provenance,
        window_id=name,
        conclusion_ids=tuple(ids),
        issues=None
        if issues is None
        else tuple(SetIssue.model_validate(item, strict=False) for item in issues),
        string_repeats=tuple(tuple(group) for group in repeats),
    )


@pytest.fixture
def make_window() -> Callable[..., Window]:
    """``make_window(conclusions, messages, window_id=, derived_at=)``; text or (peer, text)."""
    return _make_window


@pytest.fixture
def judge_window() -> Callable[..., tuple[SetLevelRow, list[JudgeRequest]]]:
    """``judge_window(window, script, reasoning=)``: the row, and the requests that it took."""
    return _judge_window


@pytest.fixture
def issue() -> Callable[..., dict[str, Any]]:
    """``issue(*conclusion_ids, kind=, severity=, evidence=)`` as the judge answers it."""
    return _issue


@pytest.fixture
def make_row() -> Callable[..., SetLevelRow]:
    """``make_row("abc", issues or None, repeats=["ab"], …)``: one letter a conclusion id."""
    return _make_row


@pytest.fixture
def make_call() -> Callable[..., Call]:
    """``make_call(request_hash, **changed)``."""
    return _call

"""Builders of windows and rows, and a scripted judge, that the set-level tests share."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest

from evals.judging.request import JudgeRequest
from evals.records import Call, ReasoningMode, Unjudged, Window
from evals.set_level.case import set_level_cases
from evals.set_level.render import load_set_level_prompts
from evals.set_level.row import SetLevelRow
from evals.set_level.schema import SetIssue
from tests.scripted import (
    NOON,
    Reply,
    Said,
    ScriptedJudge,
    call_of,
    provenance_of,
    run_context,
    window_of,
)

Script = Reply | Callable[[JudgeRequest], Reply]


def _make_window(
    conclusions: Sequence[Said] = ("vince rows", "vince sings"),
    messages: Sequence[Said] = ("I row and I sing",),
    *,
    window_id: str = "w1",
    derived_at: datetime | None = NOON,
) -> Window:
    return window_of(messages, conclusions, window_id=window_id, derived_at=derived_at)


def _call(request_hash: str, **changed: Any) -> Call:
    return call_of("set_level.judge", request_hash, **({"source": "live", "attempts": 1} | changed))


def _judge_window(
    window: Window, script: Script, *, reasoning: ReasoningMode = "off"
) -> tuple[SetLevelRow, list[JudgeRequest]]:
    (case,) = set_level_cases([window], load_set_level_prompts())
    judge = ScriptedJudge("set_level", {"judge": script})
    row = asyncio.run(case.evaluate(judge, run_context(reasoning=reasoning)))
    return row, judge.requests


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
    return SetLevelRow(
        kind="batch",
        instrument="set_level",
        case_id=name,
        outcome="unjudged" if issues is None else "scored",
        unjudged=Unjudged.model_validate(unjudged) if issues is None else None,
        calls=tuple(calls),
        provenance=provenance_of(name),
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

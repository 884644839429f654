"""Builders of windows, answers and rows that the premise tests share."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evals.premise.row import AttributedSlot, ConclusionRow
from evals.premise.schema import MinimalityItem, Pass1, Pass2
from evals.premise.verdict import verdict_of
from evals.records import Call, Unjudged, Window
from tests.scripted import Said, call_of, provenance_of, window_of


def _make_window(
    messages: Sequence[Said] = ("I start at the bakery on Monday",),
    conclusions: Sequence[Said] = ("vince starts at the bakery on 2026-06-08",),
    *,
    earlier: Sequence[Said] | None = None,
    window_id: str = "w1",
) -> Window:
    return window_of(messages, conclusions, earlier=earlier, window_id=window_id)


def _pass_1(**changed: Any) -> dict[str, Any]:
    answer = {
        "reconstruction": "vince starts work at the bakery on 2026-06-08",
        "unknown_slots": [],
        "licensed_inference": "vince has a job from 2026-06-08",
        "force": "plan",
        "decontextuality": 0.9,
        "bundled": False,
        "labels": [],
    }
    assert set(changed) <= set(answer)
    return answer | changed


def _pass_2(**changed: Any) -> dict[str, Any]:
    answer = {
        "license_check": "vince says it himself",
        "interpretation": "MATCH",
        "unsupported_elements": [],
        "force_preserved": True,
        "time_status": "ANCHORED_CORRECTLY",
        "missing": [],
        "labels": [],
    }
    assert set(changed) <= set(answer)
    return answer | changed


def _make_row(
    pass_1: dict[str, Any] | None,
    pass_2: dict[str, Any] | None,
    *,
    minimality: float | None = None,
    claims: Sequence[str] = ("one",),
    missing: Sequence[tuple[str, str]] = (),
    scope: str | None = None,
    reason: str = "refused",
    calls: Sequence[Call] = (),
    name: str = "c",
    words: int = 10,
) -> ConclusionRow:
    one = None if pass_1 is None else Pass1.model_validate(pass_1, strict=False)
    two = None if pass_2 is None else Pass2.model_validate(pass_2, strict=False)
    verdict = None
    if one is not None and two is not None:
        verdict = verdict_of(one, two, over_inference_fails=True)
    unjudged = {"reason": reason, "detail": "why"}
    fields: dict[str, Any] = {
        "case_id": name,
        "outcome": "unjudged" if verdict is None else "sound" if verdict.sound else "unsound",
        "unjudged": Unjudged.model_validate(unjudged) if verdict is None else None,
        "minimality": None
        if minimality is None
        else MinimalityItem(
            conclusion_id=name, claims=tuple(claims), padding=(), minimality=minimality
        ),
        "minimality_unjudged": unjudged if minimality is None else None,
        "missing": [
            AttributedSlot.model_validate({"slot": slot, "attribution": where, "evidence": ""})
            for slot, where in missing
        ],
        "attribution_scope": scope,
        "text": " ".join(["word"] * words),
        "token_count": words,
    }
    return ConclusionRow(
        kind="conclusion",
        instrument="premise",
        calls=tuple(calls),
        provenance=provenance_of(),
        conclusion_id=name,
        conversation_id=None,
        peer_id="vince",
        verdict=verdict,
        pass_1=one,
        pass_2=two,
        attribution_unjudged=None,
        **fields,
    )


@pytest.fixture
def make_window() -> Callable[..., Window]:
    """``make_window(messages, conclusions, earlier=, window_id=)``; a message is text or a pair."""
    return _make_window


@pytest.fixture
def pass_1() -> Callable[..., dict[str, Any]]:
    """A sound pass-1 answer, with the named keys changed."""
    return _pass_1


@pytest.fixture
def pass_2() -> Callable[..., dict[str, Any]]:
    """A sound pass-2 answer, with the named keys changed."""
    return _pass_2


@pytest.fixture
def make_call() -> Callable[..., Call]:
    """``make_call(purpose, request_hash, **changed)``."""
    return call_of


@pytest.fixture
def make_row() -> Callable[..., ConclusionRow]:
    """``make_row(pass_1 or None, pass_2 or None, minimality=, missing=, …)``."""
    return _make_row

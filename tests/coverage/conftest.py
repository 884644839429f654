"""Builders of windows and runs that the coverage tests share; see ``helpers.py`` for the judge."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evals.coverage.prompts import CoveragePrompts, load_coverage_prompts
from evals.coverage.row import GoldFact
from evals.judging.case import RunContext
from evals.judging.request import JudgeSettings
from evals.records import Conclusion, Message, Window, conclusion_id_of, window_text_hash_of

NOON = datetime(2026, 6, 4, 12, 0, 0, tzinfo=UTC)


def _make_window(
    messages: Sequence[str | tuple[str, str]] = ("I start at the bakery on Monday",),
    conclusions: Sequence[str | tuple[str, str]] = ("vince starts at the bakery on 2026-06-08",),
    *,
    peer_id: str | None = "vince",
    window_id: str = "w1",
) -> Window:
    spoken = [("vince", item) if isinstance(item, str) else item for item in messages]
    minted = [("vince", item) if isinstance(item, str) else item for item in conclusions]
    listed = tuple(
        Message(
            message_id=f"m{index}",
            peer_id=peer,
            text=text,
            sent_at=NOON + timedelta(minutes=index),
        )
        for index, (peer, text) in enumerate(spoken, start=1)
    )
    return Window(
        window_id=window_id,
        conversation_id="talk-1",
        peer_id=peer_id,
        messages=listed,
        window_text_hash=window_text_hash_of(listed),
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
                derived_at=NOON + timedelta(hours=1),
            )
            for ordinal, (peer, text) in enumerate(minted)
        ),
    )


@pytest.fixture
def make_window() -> Callable[..., Window]:
    """``make_window(messages, conclusions, peer_id=, window_id=)``.

    A message or conclusion is a text (by or about vince) or a pair (peer, text). Messages are
    ``m1``, ``m2``, … and one minute apart from 2026-06-04 12:01 UTC.
    """
    return _make_window


def _make_fact(gold_id: str = "g1", **changed: Any) -> GoldFact:
    fields: dict[str, Any] = {
        "gold_id": gold_id,
        "peer_id": "vince",
        "fact": f"fact {gold_id}",
        "category": "WORK",
        "importance": "IMPORTANT",
        "requires_inference": False,
        "source_span": "start at the bakery",
        "message_id": "m1",
        "licensed_inference": "vince has a job",
        "status": None,
        "covering": (),
        "why": None,
        "topic": None,
    }
    assert set(changed) <= set(fields)
    return GoldFact(**(fields | changed))


@pytest.fixture
def make_fact() -> Callable[..., GoldFact]:
    """``make_fact(gold_id, **changed)``: IMPORTANT, explicit, about vince, not yet matched."""
    return _make_fact


@pytest.fixture
def prompts() -> CoveragePrompts:
    """The prompts as they stand in ``prompts/coverage/``."""
    return load_coverage_prompts()


@pytest.fixture
def settings() -> JudgeSettings:
    """A judge without reasoning."""
    return JudgeSettings(model="judge-1", reasoning="off")


@pytest.fixture
def context(settings: JudgeSettings) -> RunContext:
    """A run of that judge."""
    return RunContext(
        run_id="run-1",
        bench_version="0.1.0",
        git_commit="abc",
        git_dirty=True,
        settings=settings,
        over_inference_fails=True,
    )

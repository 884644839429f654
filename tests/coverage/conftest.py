"""Builders of windows and runs that the coverage tests share; see ``helpers.py`` for the judge."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evals.coverage.prompts import CoveragePrompts, load_coverage_prompts
from evals.coverage.row import GoldFact
from evals.judging.case import RunContext
from evals.judging.request import JudgeSettings
from evals.records import Window
from tests.scripted import Said, run_context, window_of


def _make_window(
    messages: Sequence[Said] = ("I start at the bakery on Monday",),
    conclusions: Sequence[Said] = ("vince starts at the bakery on 2026-06-08",),
    *,
    peer_id: str | None = "vince",
    window_id: str = "w1",
) -> Window:
    return window_of(messages, conclusions, peer_id=peer_id, window_id=window_id)


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
def context() -> RunContext:
    """A run of a judge without reasoning."""
    return run_context()


@pytest.fixture
def settings(context: RunContext) -> JudgeSettings:
    """That judge."""
    return context.settings

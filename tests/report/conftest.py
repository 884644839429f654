"""Records as a run would make them, with every text under the test's control."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from evals.config import NO_LIMITS
from evals.policy import DEFAULT_POLICY
from evals.premise.row import AttributedSlot, ConclusionRow
from evals.premise.schema import (
    MinimalityItem,
    MissingSlot,
    Pass1,
    Pass2,
    UnknownSlot,
    UnsupportedElement,
)
from evals.premise.verdict import verdict_of
from evals.records import (
    Call,
    Message,
    Provenance,
    Unjudged,
    Window,
    conclusion_id_of,
    window_text_hash_of,
)
from evals.runs.bought import bought_fields
from evals.runs.record import RunInfo

MakeWindow = Callable[..., Window]
MakeRow = Callable[..., ConclusionRow]
MakeInfo = Callable[..., RunInfo]

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "\"'><svg onload=alert(3)>",
    "\N{RIGHT-TO-LEFT OVERRIDE}txet desrever",
    "{{ 7 * 7 }}{% raw %}",
    "line one\nline two\r\n\N{LINE SEPARATOR}line three",
    "\x1b[31mred\x07",
    "x" * 10_000,
    "&lt;b&gt; &amp; javascript:alert(4)",
]


def window_of(*texts: str, window_id: str = "w1", peer_id: str = "ana", **changes: Any) -> Window:
    """Return a window with one message a text, m1, m2, …, a minute apart."""
    messages = tuple(
        Message(
            message_id=f"m{number}",
            peer_id=peer_id,
            text=text,
            sent_at=datetime(2026, 6, 4, 12, number % 60, tzinfo=UTC),
        )
        for number, text in enumerate(texts or ("I moved to Porto in March.",), 1)
    )
    values: dict[str, Any] = {
        "window_id": window_id,
        "conversation_id": None,
        "peer_id": peer_id,
        "messages": messages,
        "window_text_hash": window_text_hash_of(messages),
        "window_reconstructed": False,
        "dataset_shape": "production",
        "earlier_messages": None,
        "conclusions": (),
    }
    return Window(**(values | changes))


def row_of(text: str = "ana moved to Porto in March 2026", **changes: Any) -> ConclusionRow:
    """Return a sound row; the named extras change it.

    Extras: ``window``, ``ordinal``, ``slots``, ``unsupported``, ``labels``, ``decontextuality``,
    ``time_status``, ``unjudged`` (no verdict then), and any field of the row itself.
    """
    window = changes.pop("window", None) or window_of()
    ordinal = changes.pop("ordinal", 0)
    slots: list[tuple[str, str, str]] = changes.pop("slots", [])
    unsupported: list[tuple[str, str, str]] = changes.pop("unsupported", [])
    labels = tuple(changes.pop("labels", ()))
    unjudged: Unjudged | None = changes.pop("unjudged", None)
    conclusion_id = conclusion_id_of(window.window_id, ordinal, text)
    pass_1 = Pass1(
        reconstruction=f"Somebody says: {text}",
        unknown_slots=tuple(UnknownSlot(slot=slot, why="open") for slot, _, _ in slots),
        licensed_inference="ana can be met in Porto",
        force="stated as fact",
        decontextuality=changes.pop("decontextuality", 0.9),
        bundled=changes.pop("bundled", False),
        labels=labels,
    )
    missing = [
        MissingSlot.model_validate({"slot": slot, "attribution": attribution, "evidence": evidence})
        for slot, attribution, evidence in slots
    ]
    pass_2 = Pass2(
        license_check="ana says so herself",
        interpretation=changes.pop("interpretation", "MATCH"),
        unsupported_elements=tuple(
            UnsupportedElement(element=element, kind=kind, why=why)
            for element, kind, why in unsupported
        ),
        force_preserved=True,
        time_status=changes.pop("time_status", "ANCHORED_CORRECTLY"),
        missing=tuple(missing),
        labels=(),
    )
    verdict = None if unjudged else verdict_of(pass_1, pass_2, over_inference_fails=True)
    outcome = "unjudged" if verdict is None else "sound" if verdict.sound else "unsound"
    values: dict[str, Any] = {
        "kind": "conclusion",
        "instrument": "premise",
        "case_id": f"{window.window_id}/{ordinal:03}-{conclusion_id}",
        "outcome": outcome,
        "unjudged": unjudged,
        "calls": (call_of("premise.pass_1", conclusion_id), call_of("premise.pass_2", "b" * 64)),
        "provenance": provenance_of(window),
        "conclusion_id": conclusion_id,
        "conversation_id": window.conversation_id,
        "peer_id": window.peer_id or "ana",
        "text": text,
        "verdict": verdict,
        "pass_1": None if unjudged else pass_1,
        "pass_2": None if unjudged else pass_2,
        "minimality": MinimalityItem(
            conclusion_id=conclusion_id, claims=("moved to Porto",), padding=(), minimality=1.0
        ),
        "minimality_unjudged": None,
        "missing": ()
        if unjudged
        else tuple(AttributedSlot(**slot.model_dump()) for slot in missing),
        "attribution_scope": "window" if missing and not unjudged else None,
        "attribution_unjudged": None,
        "token_count": len(text.split()),
    }
    return ConclusionRow(**(values | changes))


def call_of(purpose: str, request_hash: str, **changes: Any) -> Call:
    """Return a live answer of 500 input and 120 output tokens."""
    values: dict[str, Any] = {
        "purpose": purpose,
        "request_hash": request_hash,
        "prompt_hash": "c" * 64,
        "source": "live",
        "model_asked": "judge-1",
        "model_served": "judge-1",
        "input_tokens": 500,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 120,
        "attempts": 1,
    }
    return Call(**(values | changes))


def provenance_of(window: Window) -> Provenance:
    """Return the provenance of a row from ``window``."""
    return Provenance(
        run_id="20260604-120000-abcd",
        bench_version="0.1.0",
        judge_model_id="judge-1",
        judge_prompt_hashes={"premise/pass_1": "c" * 64},
        reasoning_enabled=False,
        judge_repeat=0,
        dataset_shape=window.dataset_shape,
        git_commit="0123456789abcdef",
        git_dirty=False,
        window_id=window.window_id,
        window_text_hash=window.window_text_hash,
        window_message_ids=tuple(message.message_id for message in window.messages),
        message_timestamps=tuple(message.sent_at for message in window.messages),
        window_reconstructed=window.window_reconstructed,
        peer_id=window.peer_id,
        deriver_prompt_hash="d" * 64,
        deriver_model_id="deriver-1",
        derived_at=datetime(2026, 6, 4, 12, 30, tzinfo=UTC),
    )


def info_of(**changes: Any) -> RunInfo:
    """Return a complete, calibrated live run of one item."""
    values: dict[str, Any] = {
        "run_id": "20260604-120000-abcd",
        "started_at": datetime(2026, 6, 4, 12, tzinfo=UTC),
        "ended_at": datetime(2026, 6, 4, 12, 3, 5, tzinfo=UTC),
        "complete": True,
        "bench_version": "0.1.0",
        "git_commit": "0123456789abcdef",
        "git_dirty": True,
        "judge_mode": "live",
        "judge_mode_why": "live judge: ANTHROPIC_API_KEY is set",
        "judge_model": "judge-1",
        "models_served": ("judge-1",),
        "judge_repeat": 0,
        "reasoning": "off",
        "prompt_hashes": {"premise/pass_1": "c" * 64},
        "over_inference_fails": True,
        "coverage_policy": DEFAULT_POLICY,
        "allow_unjudged": 0.0,
        "skip_bad_records": False,
        "calibrated": True,
        "calibration_why": "all specimens met on 2026-06-01",
        "trace_paths": ("traces.jsonl",),
        "imports": (),
        "collected": 1,
        "selected": 1,
        "calls_sent": None,
        "calls_sent_again": None,
        "calls_taken_up": None,
        "http_attempts": None,
        **bought_fields(None, NO_LIMITS),
        "gate_expressions": (),
        "gates": (),
    }
    return RunInfo(**(values | changes))


@pytest.fixture
def make_window() -> MakeWindow:
    return window_of


@pytest.fixture
def make_row() -> MakeRow:
    return row_of


@pytest.fixture
def make_info() -> MakeInfo:
    return info_of


@pytest.fixture(params=HOSTILE, ids=[f"hostile{number}" for number in range(len(HOSTILE))])
def hostile(request: pytest.FixtureRequest) -> str:
    text: str = request.param
    return text

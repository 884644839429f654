from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from evals.config import NO_LIMITS
from evals.policy import DEFAULT_POLICY
from evals.premise.row import ConclusionRow
from evals.premise.schema import Pass1, Pass2
from evals.premise.verdict import verdict_of
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
from evals.runs.bought import bought_fields
from evals.runs.info import RunInfo
from evals.traces import ImportReport, SkippedRecord

NOON = datetime(2026, 6, 4, 12, 0, tzinfo=UTC)


@pytest.fixture
def make_window() -> Callable[..., Window]:
    def make(window_id: str = "w0001", text: str = "I am allergic to\u2028penicillin ☂") -> Window:
        messages = (Message(message_id="m1", peer_id="priya", text=text, sent_at=NOON),)
        conclusion = Conclusion(
            conclusion_id=conclusion_id_of(window_id, 0, "priya is allergic to penicillin"),
            ordinal=0,
            peer_id="priya",
            text="priya is allergic to penicillin",
            deriver_prompt_hash=None,
            deriver_model_id="deriver-small-1",
            derived_at=NOON,
        )
        return Window(
            window_id=window_id,
            conversation_id=None,
            peer_id="priya",
            messages=messages,
            window_text_hash=window_text_hash_of(messages),
            window_reconstructed=False,
            dataset_shape="production",
            earlier_messages=None,
            conclusions=(conclusion,),
        )

    return make


@pytest.fixture
def make_row(make_window: Callable[..., Window]) -> Callable[..., ConclusionRow]:
    def make(
        number: int = 0,
        *,
        sound: bool | None = True,
        window: Window | None = None,
        run_id: str = "run-1",
    ) -> ConclusionRow:
        window = window or make_window()
        answers = None if sound is None else _answers(sound=sound)
        return ConclusionRow(
            kind="conclusion",
            instrument="premise",
            case_id=f"{window.window_id}/{number:03d}-abc",
            outcome="unjudged" if sound is None else ("sound" if sound else "unsound"),
            unjudged=Unjudged(reason="timeout", detail="no answer") if sound is None else None,
            calls=(_call(number),),
            provenance=_provenance(window, run_id),
            conclusion_id=window.conclusions[0].conclusion_id,
            conversation_id=None,
            peer_id="priya",
            text=window.conclusions[0].text,
            verdict=answers and verdict_of(*answers, over_inference_fails=True),
            pass_1=answers and answers[0],
            pass_2=answers and answers[1],
            minimality=None,
            minimality_unjudged=Unjudged(reason="timeout", detail="no answer"),
            missing=(),
            attribution_scope=None,
            attribution_unjudged=None,
            token_count=5,
        )

    return make


@pytest.fixture
def make_info() -> Callable[..., RunInfo]:
    def make(**changes: Any) -> RunInfo:
        values: dict[str, Any] = {
            "run_id": "run-1",
            "started_at": NOON,
            "ended_at": None,
            "complete": False,
            "bench_version": "0.1.0",
            "git_commit": None,
            "git_dirty": None,
            "judge_mode": "recorded",
            "judge_mode_why": "recorded answers: ANTHROPIC_API_KEY is not set",
            "judge_model": "unknown-claude",
            "models_served": (),
            "judge_repeat": 0,
            "reasoning": "off",
            "prompt_hashes": {"premise/pass_1": "1" * 64},
            "over_inference_fails": True,
            "coverage_policy": DEFAULT_POLICY,
            "allow_unjudged": 0.0,
            "skip_bad_records": False,
            "calibrated": False,
            "calibration_why": "no stamp",
            "trace_paths": ("traces.jsonl",),
            "imports": (
                ImportReport(
                    path="traces.jsonl",
                    trace_format="honcho",
                    records_read=2,
                    windows=1,
                    conclusions=1,
                    skipped=(SkippedRecord(where="traces.jsonl:2", kind="bad", why="cut"),),
                ),
            ),
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
        return RunInfo(**values | changes)

    return make


def _answers(*, sound: bool) -> tuple[Pass1, Pass2]:
    pass_1 = Pass1(
        reconstruction="priya is allergic to penicillin",
        unknown_slots=(),
        licensed_inference="do not give her penicillin" if sound else "NONE",
        force="fact",
        decontextuality=0.9 if sound else 0.3,
        bundled=False,
        labels=("allergy",),
    )
    pass_2 = Pass2(
        license_check="her own words",
        interpretation="MATCH",
        unsupported_elements=(),
        force_preserved=True,
        time_status="SELF_ANCHORING",
        missing=(),
        labels=(),
    )
    return pass_1, pass_2


def _call(number: int) -> Call:
    return Call(
        purpose="premise.pass_1",
        request_hash=f"{number:064x}",
        prompt_hash="1" * 64,
        source="recording",
        model_asked="unknown-claude",
        model_served="unknown-claude",
        input_tokens=None,
        cache_read_tokens=None,
        cache_write_tokens=None,
        output_tokens=None,
        attempts=0,
    )


def _provenance(window: Window, run_id: str) -> Provenance:
    return Provenance(
        run_id=run_id,
        bench_version="0.1.0",
        judge_model_id="unknown-claude",
        judge_prompt_hashes={"premise/pass_1": "1" * 64},
        reasoning_enabled=False,
        judge_repeat=0,
        dataset_shape="production",
        git_commit=None,
        git_dirty=None,
        window_id=window.window_id,
        window_text_hash=window.window_text_hash,
        window_message_ids=("m1",),
        message_timestamps=(NOON,),
        window_reconstructed=False,
        peer_id="priya",
        deriver_prompt_hash=None,
        deriver_model_id=None,
        derived_at=NOON,
    )

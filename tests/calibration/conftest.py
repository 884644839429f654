import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibration.gallery import SHIPPED_GALLERY, Gallery, load_gallery
from evals.config import NO_LIMITS, RunConfig
from evals.errors import JudgeError
from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse
from evals.policy import DEFAULT_POLICY
from evals.premise.schema import Pass1, Pass2
from evals.records import Call

Scripted = dict[str, Any] | str | JudgeError | None

PASS_1: dict[str, Any] = {
    "reconstruction": "priya is allergic to penicillin",
    "unknown_slots": [],
    "licensed_inference": "do not give her penicillin",
    "force": "fact",
    "decontextuality": 0.9,
    "bundled": False,
    "labels": [],
}
PASS_2: dict[str, Any] = {
    "license_check": "her own words",
    "interpretation": "MATCH",
    "unsupported_elements": [],
    "force_preserved": True,
    "time_status": "SELF_ANCHORING",
    "missing": [],
    "labels": [],
}
SEARCH: dict[str, Any] = {"slots": []}
GALLERY = """
specimens:
- id: allergy
  peer_id: priya
  conclusion: "priya is allergic to penicillin"
  window:
    - {at: "2026-01-20T11:00:00Z", peer: priya, text: "I'm allergic to penicillin, I get hives."}
    - {at: null, peer: carol, text: "noted"}
  verdict: pass
  pass_1: {decontextuality_min: 0.8, unknown_slots: [], licensed_inference: present}
  pass_2: {interpretation: MATCH, time_status_in: [SELF_ANCHORING]}
  why: "A stable trait."
- id: bare-yes
  peer_id: sam
  conclusion: "sam said yes"
  window:
    - {at: 2026-04-08T15:00:00Z, peer: sam, text: "yes"}
  verdict: fail
"""

SEARCHED = """
specimens:
- id: booked-what
  peer_id: priya
  conclusion: "On 2026-01-20 priya told sam that she booked it"
  earlier:
    - {at: "2026-01-19T11:00:00Z", peer: sam, text: "Please book the blue room, nothing else."}
    - {at: null, peer: priya, text: "Tomorrow."}
  window:
    - {at: "2026-01-20T11:00:00Z", peer: priya, text: "Booked it, sam."}
  verdict: fail
  pass_1: {unknown_slots_include: [OBJECT_OR_CONTENT]}
  attribution: [{slot: OBJECT_OR_CONTENT, attribution: ABSENT_FROM_WINDOW}]
- id: opens-the-talk
  peer_id: priya
  conclusion: "On 2026-01-20 priya told sam that she sold it"
  earlier: []
  window:
    - {at: "2026-01-20T11:00:00Z", peer: priya, text: "Sold it, sam."}
  verdict: fail
  attribution: [{slot: OBJECT_OR_CONTENT, attribution: ABSENT_EVERYWHERE}]
"""


class ScriptedJudge:
    """Answers by purpose; keeps what it was asked."""

    def __init__(self, script: dict[str, str | JudgeError]) -> None:
        self.script = script
        self.requests: list[JudgeRequest] = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        self.requests.append(request)
        if request.guard is not None:
            request.guard.check(request.params)
        answer = self.script[request.purpose]
        if isinstance(answer, JudgeError):
            raise answer
        call = Call(
            purpose=request.purpose,
            request_hash=request.request_hash,
            prompt_hash=request.prompt.prompt_hash,
            source="recording",
            model_asked=request.settings.model,
            model_served=f"{request.settings.model}-20260101",
            input_tokens=None,
            cache_read_tokens=None,
            cache_write_tokens=None,
            output_tokens=None,
            attempts=0,
        )
        return JudgeResponse(text=answer, stop_reason="end_turn", call=call)


@pytest.fixture
def make_judge() -> Callable[..., ScriptedJudge]:
    def make(
        pass_1: Scripted = None, pass_2: Scripted = None, search: Scripted = None
    ) -> ScriptedJudge:
        """Take what each answer differs in, or its whole text, or the error it ends in."""
        return ScriptedJudge(
            {
                "premise.pass_1": _scripted(pass_1, PASS_1),
                "premise.pass_2": _scripted(pass_2, PASS_2),
                "premise.attribution_search": _scripted(search, SEARCH),
            }
        )

    return make


def _scripted(given: Scripted, usual: dict[str, Any]) -> str | JudgeError:
    return json.dumps(usual | (given or {})) if not isinstance(given, str | JudgeError) else given


@pytest.fixture
def pass_1() -> Callable[..., Pass1]:
    def make(**changes: Any) -> Pass1:
        return Pass1.model_validate_json(json.dumps(PASS_1 | changes))

    return make


@pytest.fixture
def pass_2() -> Callable[..., Pass2]:
    def make(**changes: Any) -> Pass2:
        return Pass2.model_validate_json(json.dumps(PASS_2 | changes))

    return make


@pytest.fixture
def gallery_file(tmp_path: Path) -> Path:
    """A gallery of two specimens: ``allergy`` (pass) and ``bare-yes`` (fail)."""
    path = tmp_path / "gallery.yaml"
    path.write_text(GALLERY, encoding="utf-8")
    return path


@pytest.fixture
def gallery(gallery_file: Path) -> Gallery:
    return load_gallery(gallery_file)


@pytest.fixture
def searched_file(tmp_path: Path) -> Path:
    """A gallery of two fails with ``earlier``: ``booked-what``, and ``opens-the-talk`` (none)."""
    path = tmp_path / "searched.yaml"
    path.write_text(SEARCHED, encoding="utf-8")
    return path


@pytest.fixture
def searched(searched_file: Path) -> Gallery:
    return load_gallery(searched_file)


@pytest.fixture
def context() -> RunContext:
    return RunContext(
        run_id="run-1",
        bench_version="0.1.0",
        git_commit=None,
        git_dirty=None,
        settings=JudgeSettings("judge-1", "off"),
        over_inference_fails=True,
    )


@pytest.fixture
def make_config(tmp_path: Path) -> Callable[..., RunConfig]:
    def make(gallery_path: Path = SHIPPED_GALLERY) -> RunConfig:
        return RunConfig(
            trace_paths=(),
            trace_format=None,
            skip_bad_records=False,
            dataset_shape=None,
            judge_mode="recorded",
            judge_mode_why="recorded answers",
            judge_model="judge-1",
            reasoning="off",
            judge_repeat=0,
            max_in_flight=1,
            call_timeout_s=1.0,
            max_attempts=1,
            batch_poll_s=1.0,
            limits=NO_LIMITS,
            plan=False,
            base_url=None,
            api_key=None,
            store_path=tmp_path / "answers.sqlite",
            recordings_dir=tmp_path,
            run_id="run-1",
            reports_dir=tmp_path,
            allow_unjudged=0.0,
            gates=(),
            require_calibration=False,
            coverage_policy=DEFAULT_POLICY,
            over_inference_fails=True,
            export_dir=None,
            gallery_path=gallery_path,
        )

    return make

"""What the benchmark's runs read, made once a size."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evals.judging.request import JudgeSettings
from evals.premise.render import WindowTexts, load_premise_prompts, pass_1_request, pass_2_request
from evals.traces import WindowLog, load_trace

_MESSAGES_A_WINDOW = 8
_CONCLUSIONS_A_WINDOW = 10
_AT = datetime(2026, 6, 4, 12, tzinfo=UTC)


def write_trace(folder: Path, conclusions: int) -> Path:
    """Return a trace of ``conclusions`` conclusions, ten a window."""
    path = folder / f"trace-{conclusions}.jsonl"
    if path.exists():
        return path
    log = WindowLog(path)
    for window in range(conclusions // _CONCLUSIONS_A_WINDOW):
        log.write(
            peer_id="ana",
            messages=[
                {
                    "message_id": f"m{number}",
                    "peer_id": "ana",
                    "text": f"In week {window} I planted {number + 3} trees behind the house.",
                    "sent_at": _AT + timedelta(minutes=number),
                }
                for number in range(_MESSAGES_A_WINDOW)
            ],
            conclusions=[
                f"ana planted tree {number} of window {window} before 2026-06-04"
                for number in range(_CONCLUSIONS_A_WINDOW)
            ],
            deriver_prompt="List facts.",
            deriver_model_id="small-1",
            derived_at=_AT + timedelta(minutes=_MESSAGES_A_WINDOW),
            window_id=f"w{window:06d}",
        )
    return path


def write_bodies(folder: Path, conclusions: int) -> Path:
    """Return the bodies of both passes of ``conclusions`` conclusions, as the suite sends them.

    Pass 2 quotes pass 1's answer, which nobody knows yet: one such answer stands in for all.
    """
    path = folder / f"bodies-{conclusions}.jsonl"
    if path.exists():
        return path
    prompts, settings = load_premise_prompts(), JudgeSettings("bench", "off")
    blind = json.dumps({"reconstruction": "…", "unknown_slots": [], "licensed_inference": "NONE"})
    trace = load_trace(write_trace(folder, conclusions))
    with path.open("w", encoding="utf-8") as file:
        for texts in map(WindowTexts, trace.windows):
            for conclusion in texts.window.conclusions:
                first = pass_1_request(conclusion.text, settings, prompts)
                second = pass_2_request(conclusion, blind, texts, settings, prompts)
                file.write(json.dumps([first.params, second.params]) + "\n")
    return path


def write_empty_cases(folder: Path, cases: int) -> Path:
    """Return a test file of ``cases`` empty cases with ids like those of the suite."""
    path = folder / f"test_empty_{cases}.py"
    path.write_text(
        "import pytest\n\n"
        f"IDS = [f'w{{n // 10:06d}}/{{n % 10:03d}}-0123456789abcdef' for n in range({cases})]\n\n"
        f"@pytest.mark.parametrize('case', range({cases}), ids=IDS)\n"
        "def test_case(case):\n    pass\n",
        encoding="utf-8",
    )
    return path

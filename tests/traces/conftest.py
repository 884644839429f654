"""Traces in each format, written for these tests."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

JsonObject = dict[str, Any]

_WINDOW = (
    "2026-06-04 11:58:02 vince: Do you want tea?\n"
    "2026-06-04 11:58:40 mara: yes\n"
    "please, green\n"
    "2026-06-04 11:59:10 vince: will do"
)


@pytest.fixture
def honcho_prompt() -> Callable[..., str]:
    """Return a maker of deriver prompts."""

    def prompt(window: str = _WINDOW, peer: str = "mara") -> str:
        return (
            "Extract facts.\nName the peer under `Target peer:` in each.\n\n"
            f"Target peer:\n{peer}\n\nMessages to analyze:\n<messages>\n{window}\n</messages>"
        )

    return prompt


@pytest.fixture
def honcho_call(honcho_prompt: Callable[..., str]) -> Callable[..., JsonObject]:
    """Return a maker of deriver calls, as Honcho logs them; arguments replace top-level keys."""

    def call(**changes: Any) -> JsonObject:
        return {
            "timestamp": 1780574401.21,
            "task_type": "minimal_deriver",
            "provider": "openai",
            "model": "small-1",
            "settings": {"max_tokens": 4096},
            "input": {"tokens": 412, "prompt": honcho_prompt()},
            "output": {
                "content": {"explicit": [{"content": "mara drinks green tea"}]},
                "tokens": 88,
                "finish_reasons": ["stop"],
                "thinking_content": None,
            },
            **changes,
        }

    return call


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Return a writer of one JSON value a line."""

    def write(*values: Any, name: str = "trace.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
        return path

    return write


_CONVERSATION: JsonObject = {
    "speaker_a": "Ines",
    "speaker_b": "Tom",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ines", "dia_id": "D1:1", "text": "I adopted a cat."},
        {
            "speaker": "Tom",
            "dia_id": "D1:2",
            "text": "Sweet! Mine:",
            "img_url": ["http://example.test/dog.jpg"],
            "blip_caption": "a photo of a dog",
        },
    ],
    "session_1_observation": {
        "Ines": [["Ines adopted a cat.", "D1:1"]],
        "Tom": [["Tom has a dog.", ["D1:2"]]],
    },
    "session_2": [{"speaker": "Tom", "dia_id": "D2:1", "text": "Hello again."}],
    "session_3_date_time": "12:09 am on 13 September, 2023",
    "session_3": [{"speaker": "Ines", "dia_id": "D3:1", "text": "The cat is called Mo."}],
    "session_3_observation": {"Ines": [["Ines's cat is called Mo.", "D3:1"]]},
    "session_4_date_time": "4:10 pm on 26 October, 2023",
    "qa": [],
}


@pytest.fixture
def locomo_conversation() -> JsonObject:
    """Return a conversation in LoCoMo's one-file shape: three sessions, two with observations."""
    return copy.deepcopy(_CONVERSATION)

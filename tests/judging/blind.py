"""A blind request to tamper with, and its guard; lines of the window that may not be in it."""

import copy
from datetime import UTC, datetime
from typing import Any

from evals.judging.isolation import Guard
from evals.judging.request import JudgeSettings
from evals.premise.render import (
    PremisePrompts,
    WindowTexts,
    guarded,
    load_premise_prompts,
    pass_1_guard,
    pass_1_request,
)
from evals.records import Conclusion, Message, Window, window_text_hash_of

SETTINGS = JudgeSettings(model="judge-1", reasoning="off")
DECK = "please bring the “deck” to Café Ørsted"
LONG = "The Kowalski contract ends in March, and I will not renew it."
WIDE = "\uff32\uff49\uff56\uff45\uff52 house, 2nd floor"
QUOTED = 'She said "never again" and left'
EMOJI = "see you at the 🎂 shop"
LINES = (f"yes\n{DECK}", LONG, WIDE, QUOTED, EMOJI, "C:\\new\\table is where it lives", "")
OWN = "courtland responded with 'yes'"
SIBLING = "courtland's contract with Kowalski ends in March"
Params = dict[str, Any]


def window_of(lines: tuple[str, ...], conclusions: tuple[str, ...]) -> Window:
    messages = tuple(
        Message(
            message_id=f"m{index}",
            peer_id="vince",
            text=text,
            sent_at=datetime(2026, 6, 4, 11, 58, index, tzinfo=UTC),
        )
        for index, text in enumerate(lines)
    )
    return Window(
        window_id="w1",
        conversation_id=None,
        peer_id="courtland",
        messages=messages,
        window_text_hash=window_text_hash_of(messages),
        window_reconstructed=False,
        dataset_shape="production",
        earlier_messages=None,
        conclusions=tuple(
            Conclusion(
                conclusion_id=f"c{ordinal}",
                ordinal=ordinal,
                peer_id="courtland",
                text=text,
                deriver_prompt_hash=None,
                deriver_model_id=None,
                derived_at=None,
            )
            for ordinal, text in enumerate(conclusions)
        ),
    )


def blind(
    conclusion: str = OWN,
    lines: tuple[str, ...] = LINES,
    siblings: tuple[str, ...] = (SIBLING,),
    prompts: PremisePrompts | None = None,
) -> tuple[Guard, Params]:
    """The guard of a conclusion's blind request, and a copy of what is sent, to tamper with."""
    prompts = prompts or load_premise_prompts()
    forbidden = WindowTexts(window_of(lines, (conclusion, *siblings))).forbidden
    guard = pass_1_guard("w1/000-c0", conclusion, forbidden, SETTINGS, prompts)
    request = guarded(pass_1_request(conclusion, SETTINGS, prompts), guard)
    assert request.guard is guard
    return guard, copy.deepcopy(request.params)


def in_system(params: Params, leak: str) -> None:
    params["system"][0]["text"] += f"\n{leak}"


def in_user(params: Params, leak: str) -> None:
    params["messages"][0]["content"] += leak

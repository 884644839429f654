"""The premise judge's four questions, each asked, parsed and checked by itself."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.errors import InvalidOutputError
from evals.judging.asking import Answered, CallLog, answer_place, check_names
from evals.judging.request import JudgeSettings
from evals.premise.render import (
    OpenSlot,
    attribution_search_request,
    guarded,
    minimality_request,
    pass_1_guard,
    pass_1_request,
    pass_2_request,
)
from evals.premise.schema import (
    AttributionAnswer,
    MinimalityAnswer,
    MinimalityItem,
    Pass1,
    Pass2,
    SettledSlot,
)
from evals.untrusted import for_terminal

if TYPE_CHECKING:
    from evals.premise.case import PremiseCase


async def ask_pass_1(case: "PremiseCase", log: CallLog, settings: JudgeSettings) -> Answered[Pass1]:
    """Ask the blind pass, under the isolation check (1.1). Raises as ``CallLog.ask``."""
    text = case.conclusion.text
    request = pass_1_request(text, settings, case.prompts)
    guard = pass_1_guard(case.case_id, text, case.texts.forbidden, settings, case.prompts)
    return await log.ask(guarded(request, guard), Pass1)


async def ask_pass_2(
    case: "PremiseCase", pass_1: Answered[Pass1], log: CallLog, settings: JudgeSettings
) -> Answered[Pass2]:
    """Ask the sighted pass about the blind one's answer. Raises as ``CallLog.ask``."""
    request = pass_2_request(case.conclusion, pass_1.text, case.texts, settings, case.prompts)
    return await log.ask(request, Pass2)


async def ask_minimality(
    case: "PremiseCase", log: CallLog, settings: JudgeSettings
) -> MinimalityItem:
    """Ask for the minimality of the window's conclusions and return this one's.

    All conclusions of a window ask with an equal request, which the judge answers once.

    Raises:
        InvalidOutputError: the answer does not name each conclusion asked about exactly once.
        JudgeError: otherwise as ``CallLog.ask``, with its other errors.
    """
    batch = case.texts.minimality_batch(case.conclusion)
    asked = [item.conclusion_id for item in batch]
    answered = await log.ask(minimality_request(batch, settings, case.prompts), MinimalityAnswer)
    items = answered.answer.items
    check_names("conclusion ids", asked, [item.conclusion_id for item in items], answered)
    return next(item for item in items if item.conclusion_id == case.conclusion.conclusion_id)


async def ask_attribution(
    case: "PremiseCase", slots: Sequence[OpenSlot], log: CallLog, settings: JudgeSettings
) -> tuple[SettledSlot, ...]:
    """Search the conversation before the window for open slots; one answer a slot, in their order.

    Slots of the same name are told apart by their order.

    Raises:
        InvalidOutputError: the answer does not name exactly the slots asked about, or says that
            one was settled without the words that settle it.
        JudgeError: otherwise as ``CallLog.ask``, with its other errors.
    """
    assert case.window.earlier_messages is not None
    request = attribution_search_request(
        case.conclusion, slots, case.window.earlier_messages, settings, case.prompts
    )
    answered = await log.ask(request, AttributionAnswer)
    asked = [item.slot for item in slots]
    check_names("slots", asked, [item.slot for item in answered.answer.slots], answered)
    for item in answered.answer.slots:
        if item.said_earlier and not item.evidence.strip():
            raise InvalidOutputError(
                answer_place(answered),
                f"slot {for_terminal(item.slot, 60)!r} said earlier, without evidence",
                "the earlier words that settle it",
                "Ask again with another --judge-repeat, or check the prompt.",
            )
    by_name: dict[str, deque[SettledSlot]] = {name: deque() for name in asked}
    for item in answered.answer.slots:
        by_name[item.slot].append(item)
    return tuple(by_name[name].popleft() for name in asked)

"""The premise judge's four questions, each asked, parsed and checked by itself."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from evals.errors import InvalidOutputError
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import AnswerT, Judge, parse_answer
from evals.premise.render import (
    PURPOSES,
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
from evals.records import Call
from evals.untrusted import for_terminal

if TYPE_CHECKING:
    from evals.premise.case import PremiseCase


@dataclass(frozen=True)
class Answered(Generic[AnswerT]):
    """A typed answer and the text that it was parsed from."""

    answer: AnswerT
    text: str
    """Verbatim, as pass 2 is given pass 1 (1.2)."""
    call: Call


class CallLog:
    """Asks for one case, and keeps the call of every answer that came, usable or not."""

    def __init__(self, judge: Judge) -> None:
        """Start empty."""
        self._judge = judge
        self._calls: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, in the order of ``PURPOSES``, whatever order they were answered in."""
        return tuple(sorted(self._calls, key=lambda call: PURPOSES.index(call.purpose)))

    async def ask(self, request: JudgeRequest, shape: type[AnswerT]) -> Answered[AnswerT]:
        """Ask and parse.

        Raises:
            JudgeError: there is no usable answer.
            IsolationError: see ``Judge.ask``.
            WrongModelError: see ``Judge.ask``.
        """
        response = await self._judge.ask(request)
        # Before it is parsed: an answer that cannot be used has been paid for all the same.
        self._calls.append(response.call)
        answer = parse_answer(response, shape)
        return Answered(answer=answer, text=response.text, call=response.call)


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
    _check_names("conclusion ids", asked, [item.conclusion_id for item in items], answered)
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
    _check_names("slots", asked, [item.slot for item in answered.answer.slots], answered)
    for item in answered.answer.slots:
        if item.said_earlier and not item.evidence.strip():
            raise InvalidOutputError(
                _where(answered),
                f"slot {for_terminal(item.slot, 60)!r} said earlier, without evidence",
                "the earlier words that settle it",
                "Ask again with another --judge-repeat, or check the prompt.",
            )
    by_name: dict[str, deque[SettledSlot]] = {name: deque() for name in asked}
    for item in answered.answer.slots:
        by_name[item.slot].append(item)
    return tuple(by_name[name].popleft() for name in asked)


def _check_names(
    what: str, asked: Sequence[str], named: Sequence[str], answered: Answered[Any]
) -> None:
    wanted, found = Counter(asked), Counter(named)
    if wanted == found:
        return
    left_out, extra = sorted((wanted - found).elements()), sorted((found - wanted).elements())
    raise InvalidOutputError(
        _where(answered),
        f"{what} left out: {for_terminal(', '.join(left_out)) or 'none'}; "
        f"too many: {for_terminal(', '.join(extra)) or 'none'}",
        f"exactly the {len(asked)} {what} asked about, each once",
        "Ask again with another --judge-repeat, or check the prompt.",
    )


def _where(answered: Answered[Any]) -> str:
    return f"answer {answered.call.request_hash[:12]} to {answered.call.purpose}"

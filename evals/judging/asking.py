"""Asking for one case: the typed answer, the calls that it cost, and whether it answers all."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from evals.errors import InvalidOutputError
from evals.judging.request import JudgeRequest
from evals.judging.response import AnswerT, Judge, parse_answer
from evals.records import Call
from evals.untrusted import for_terminal

FirstT = TypeVar("FirstT")
SecondT = TypeVar("SecondT")


@dataclass(frozen=True)
class Answered(Generic[AnswerT]):
    """A typed answer and the text that it was parsed from."""

    answer: AnswerT
    text: str
    """Verbatim."""
    call: Call


class CallLog:
    """Asks for one case, and keeps the call of every answer that came, usable or not."""

    def __init__(self, judge: Judge, purposes: Sequence[str]) -> None:
        """Start empty.

        Args:
            judge: who is asked.
            purposes: every purpose that the case can ask with, in the order of its row.
        """
        self._judge = judge
        self._purposes = tuple(purposes)
        self._calls: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, by purpose, whatever order they were answered in."""
        order = self._purposes.index
        return tuple(sorted(self._calls, key=lambda call: (order(call.purpose), call.request_hash)))

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


def check_names(
    what: str, asked: Sequence[str], named: Sequence[str], answered: Answered[Any]
) -> None:
    """Check that an answer names exactly what it was asked about, each once, in any order.

    Raises:
        InvalidOutputError: something is left out, named twice, or unknown.
    """
    wanted, found = Counter(asked), Counter(named)
    if wanted == found:
        return
    left_out, extra = sorted((wanted - found).elements()), sorted((found - wanted).elements())
    raise InvalidOutputError(
        answer_place(answered),
        f"{what} left out: {for_terminal(', '.join(left_out)) or 'none'}; "
        f"too many: {for_terminal(', '.join(extra)) or 'none'}",
        f"exactly the {len(asked)} {what} asked about, each once",
        "Ask again with another --judge-repeat, or check the prompt.",
    )


def answer_place(answered: Answered[Any]) -> str:
    """Return how an error names an answer."""
    return f"answer {answered.call.request_hash[:12]} to {answered.call.purpose}"


async def side_by_side(
    first: Coroutine[Any, Any, FirstT], second: Coroutine[Any, Any, SecondT]
) -> tuple[FirstT, SecondT]:
    """Return both results; the first starts first, so that a leak in it stops the second.

    What one of them raises ends the other, and is raised as it is.
    """
    try:
        async with asyncio.TaskGroup() as group:
            one, two = group.create_task(first), group.create_task(second)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # callers know the errors, not the group
    return one.result(), two.result()

"""A walk finds every request that the answers allow, and none that rests on the lack of one."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from evals.errors import IsolationError
from evals.judging.asking import side_by_side
from evals.judging.batch.walk import Walk
from evals.judging.case import FollowUp, Row, RunContext
from evals.judging.message import parse_message, response_of
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import Judge, JudgeResponse
from tests.judging.batch_runs import CONTEXT, row_of
from tests.judging.helpers import message_for, request_for


@dataclass(frozen=True, eq=False)
class Scripted:
    """A case that does what the test says."""

    steps: Callable[[Judge], Coroutine[Any, Any, Any]]
    case_id: str = "case"

    async def evaluate(self, judge: Judge, context: RunContext) -> Row:
        await self.steps(judge)
        return row_of(self.case_id, context, [], None)

    def follow_ups(
        self,
        missing: Collection[str],  # noqa: ARG002  the form of a case
        settings: JudgeSettings,  # noqa: ARG002  the form of a case
    ) -> tuple[FollowUp, ...]:
        raise AssertionError("a walk plans nothing")


class Answers:
    """Knows the answers to some requests, by their conclusion."""

    def __init__(self, *known: str) -> None:
        self._known = {request_for(each).request_hash for each in known}
        self.lacking: list[str] = []

    def find(self, request: JudgeRequest) -> JudgeResponse | None:
        if request.request_hash not in self._known:
            self.lacking.append(request.user.split('"')[1])
            return None
        return response_of(parse_message(message_for("{}")), request, "store", 0)

    def walk(self, steps: Callable[[Judge], Coroutine[Any, Any, Any]]) -> Row | None:
        async def run() -> Row | None:
            row = await Walk(self.find).evaluate(Scripted(steps), CONTEXT)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, "something of the case goes on"
            return row

        return asyncio.run(run())


def ask(judge: Judge, conclusion: str) -> Coroutine[Any, Any, JudgeResponse]:
    return judge.ask(request_for(conclusion))


async def several(judge: Judge) -> None:
    """Ask for two chains side by side, one of them with three answers that a last one joins."""

    async def chain() -> None:
        await ask(judge, "gold")
        await side_by_side(ask(judge, "matching"), ask(judge, "topics"))

    async def joined() -> None:
        await ask(judge, "questions")
        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(ask(judge, f"answer {number}"))
        await ask(judge, "comparison")

    await side_by_side(chain(), joined())


@pytest.mark.parametrize(
    ("known", "lacking"),
    [
        ((), ["gold", "questions"]),
        (("gold",), ["matching", "questions", "topics"]),
        (("questions",), ["answer 0", "answer 1", "answer 2", "gold"]),
        (("questions", "answer 1", "gold", "topics"), ["answer 0", "answer 2", "matching"]),
        (
            ("gold", "matching", "topics", "questions", "answer 0", "answer 1", "answer 2"),
            ["comparison"],
        ),
    ],
)
def test_it_asks_all_that_the_answers_allow_and_nothing_else(
    known: tuple[str, ...], lacking: list[str]
) -> None:
    answers = Answers(*known)
    assert answers.walk(several) is None
    assert sorted(answers.lacking) == lacking


def test_with_every_answer_it_comes_to_the_row() -> None:
    names = ["gold", "matching", "topics", "questions", "comparison"]
    answers = Answers(*names, *(f"answer {number}" for number in range(3)))
    row = answers.walk(several)
    assert row is not None
    assert row.case_id == "case"
    assert answers.lacking == []


def test_a_case_that_asks_nothing_comes_to_its_row() -> None:
    async def nothing(judge: Judge) -> None:
        del judge

    assert Answers().walk(nothing) is not None


def test_work_that_is_no_request_is_waited_for_where_no_answer_lacks() -> None:
    async def slow(judge: Judge) -> None:
        await ask(judge, "known")
        await asyncio.to_thread(sum, range(10))
        for _ in range(100):
            await asyncio.sleep(0)
        await ask(judge, "known")

    assert Answers("known").walk(slow) is not None


def test_what_a_case_ends_in_is_raised_although_a_part_of_it_waits() -> None:
    async def leaking(judge: Judge) -> None:
        await ask(judge, "known")
        raise IsolationError("case", "a leak", "none", "")

    async def both(judge: Judge) -> None:
        await side_by_side(ask(judge, "unknown"), leaking(judge))

    with pytest.raises(IsolationError):
        Answers("known").walk(both)

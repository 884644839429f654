"""Topics of gold facts and conclusions, in the judge's own words (3.5)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.coverage.render import topics_request
from evals.coverage.row import GoldFact
from evals.coverage.schema import TopicAnswer
from evals.errors import InvalidOutputError
from evals.judging.asking import CallLog, answer_place, check_names
from evals.judging.request import JudgeSettings

if TYPE_CHECKING:
    from evals.coverage.case import CoverageCase


async def sort_by_topic(
    case: "CoverageCase", gold: Sequence[GoldFact], log: CallLog, settings: JudgeSettings
) -> dict[str, str]:
    """Return the topic of every gold fact and conclusion of a window, by its id.

    One call for both, so that they share a vocabulary, and none where there is nothing to sort.
    Topics are lower case with single spaces; otherwise they are the judge's.

    Raises:
        InvalidOutputError: the answer does not name each item exactly once, or a topic is blank.
        JudgeError: otherwise as ``CallLog.ask``, with its other errors.
    """
    items = [(fact.gold_id, fact.fact) for fact in gold]
    items += [(item.conclusion_id, item.text) for item in case.window.conclusions]
    if not items:
        return {}
    request = topics_request(case.case_id, items, settings, case.prompts.topics)
    answered = await log.ask(request, TopicAnswer)
    found = answered.answer.topics
    check_names("item ids", [one for one, _ in items], [one.item_id for one in found], answered)
    topics = {one.item_id: " ".join(one.topic.split()).casefold() for one in found}
    blank = [item_id for item_id, topic in topics.items() if not topic]
    if blank:
        raise InvalidOutputError(
            answer_place(answered),
            f"no topic for {blank[0]} ({len(blank)} such in all)",
            "a word or a few for each",
            "Ask again with another --judge-repeat, or check the prompt.",
        )
    return topics

"""Matching: which gold facts do the conclusions carry, and which of them (3.1)?"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from evals.coverage.render import matching_request
from evals.coverage.row import GoldFact
from evals.coverage.schema import Match, MatchAnswer
from evals.errors import InvalidOutputError
from evals.judging.asking import CallLog, answer_place, check_names
from evals.judging.request import JudgeSettings
from evals.untrusted import for_terminal

if TYPE_CHECKING:
    from evals.coverage.case import CoverageCase


async def match_gold(
    case: "CoverageCase", gold: Sequence[GoldFact], log: CallLog, settings: JudgeSettings
) -> tuple[GoldFact, ...]:
    """Return the gold facts with status and covering conclusions, in the same order.

    One call, and none where there is nothing to match: without conclusions every fact is MISSING.
    Entailment is charitable: whether the conclusion that carries a fact can also be used without
    its context is the premise judge's business, and the composite's to join (3.6).

    Raises:
        InvalidOutputError: the answer leaves a gold fact out, names an unknown one or an unknown
            conclusion, or one twice, or its status and its conclusions contradict each other. It is
            never read as MISSING.
        JudgeError: otherwise as ``CallLog.ask``, with its other errors.
    """
    conclusions = case.window.conclusions
    if not gold or not conclusions:
        return tuple(fact.model_copy(update={"status": "MISSING"}) for fact in gold)
    request = matching_request(case.case_id, gold, conclusions, settings, case.prompts.matching)
    answered = await log.ask(request, MatchAnswer)
    matches = {match.gold_id: match for match in answered.answer.matches}
    named = [match.gold_id for match in answered.answer.matches]
    check_names("gold ids", [fact.gold_id for fact in gold], named, answered)
    place = {item.conclusion_id: number for number, item in enumerate(conclusions)}
    for match in matches.values():
        problem = _problem(match, place)
        if problem is not None:
            raise InvalidOutputError(
                answer_place(answered),
                f"{match.gold_id} {match.status} with {problem}",
                "conclusion ids as they were given, each once, and none where it is MISSING",
                "Ask again with another --judge-repeat, or check the prompt.",
            )
    return tuple(_matched(fact, matches[fact.gold_id], place) for fact in gold)


def _problem(match: Match, known: Collection[str]) -> str | None:
    if (match.status == "MISSING") != (not match.covering):
        return "conclusions" if match.covering else "no conclusion"
    unknown = set(match.covering).difference(known)
    if unknown:
        return f"the unknown conclusions {for_terminal(', '.join(sorted(unknown)), 80)}"
    return None if len(set(match.covering)) == len(match.covering) else "a conclusion named twice"


def _matched(fact: GoldFact, match: Match, place: Mapping[str, int]) -> GoldFact:
    # In the window's order, whatever order the judge names them in.
    covering = tuple(sorted(match.covering, key=place.__getitem__))
    found = {"status": match.status, "covering": covering, "why": match.why}
    return fact.model_copy(update=found)

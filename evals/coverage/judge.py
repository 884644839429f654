"""Judging one window: gold, then matching and topics; the QA path beside them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.coverage.calls import PURPOSES
from evals.coverage.gold import Gold, find_gold
from evals.coverage.matching import match_gold
from evals.coverage.qa import ask_questions
from evals.coverage.row import CoverageRow, DroppedFact, GoldFact
from evals.coverage.topics import sort_by_topic
from evals.errors import JudgeError
from evals.judging.asking import CallLog, side_by_side
from evals.judging.case import RunContext
from evals.judging.provenance import provenance_in
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.records import Unjudged

if TYPE_CHECKING:
    from evals.coverage.case import CoverageCase


async def judge_window(case: "CoverageCase", judge: Judge, context: RunContext) -> CoverageRow:
    """Judge one window (Component 3). Never raises ``JudgeError``.

    A window without gold or without matching has no coverage: its row is unjudged, and keeps what
    was answered. Without questions or topics the row is scored and says what it lacks. The number
    of calls is ``evals.coverage.calls.CALLS_A_WINDOW``.

    Raises:
        IsolationError: an answering request leaked; nothing of it was sent.
        WrongModelError: another model answered than the pinned one.
    """
    log = CallLog(judge, PURPOSES)
    measured, asked = await side_by_side(
        _measure(case, log, context.settings), ask_questions(case, log, context.settings)
    )
    unjudged = measured.gold_unjudged or measured.matching_unjudged
    conclusions = case.window.conclusions
    return CoverageRow(
        kind="window",
        instrument="coverage",
        case_id=case.case_id,
        outcome="scored" if unjudged is None else "unjudged",
        unjudged=unjudged,
        calls=log.calls,
        provenance=provenance_in(context, case.window, case.prompts.hashes(), conclusions),
        window_id=case.window.window_id,
        conclusion_ids=tuple(item.conclusion_id for item in conclusions),
        gold_source=None if measured.gold is None else measured.gold.source,
        gold=measured.facts,
        dropped=measured.dropped,
        matching_unjudged=measured.matching_unjudged,
        questions=asked.questions,
        questions_unjudged=asked.unjudged,
        dropped_questions=asked.dropped,
        conclusion_topics=measured.conclusion_topics,
        topics_unjudged=measured.topics_unjudged,
    )


@dataclass(frozen=True)
class _Measured:
    """Gold, matching and topics of one window; the fields are those of ``CoverageRow``."""

    gold: Gold | None
    gold_unjudged: Unjudged | None
    facts: tuple[GoldFact, ...] | None
    matching_unjudged: Unjudged | None
    conclusion_topics: dict[str, str] | None
    topics_unjudged: Unjudged | None

    @property
    def dropped(self) -> tuple[DroppedFact, ...]:
        return () if self.gold is None else self.gold.dropped


async def _measure(case: "CoverageCase", log: CallLog, settings: JudgeSettings) -> _Measured:
    try:
        gold = await find_gold(case, log, settings)
    except JudgeError as error:
        # Nothing to match and nothing to sort: the one reason stands where it arose.
        return _Measured(None, Unjudged.of(error), None, None, None, None)
    matched, by_topic = await side_by_side(
        _match(case, gold, log, settings), _sort(case, gold, log, settings)
    )
    facts = gold.facts if isinstance(matched, Unjudged) else matched
    topics = {} if isinstance(by_topic, Unjudged) else by_topic
    conclusion_ids = [item.conclusion_id for item in case.window.conclusions]
    return _Measured(
        gold=gold,
        gold_unjudged=None,
        facts=tuple(
            fact.model_copy(update={"topic": topics[fact.gold_id] if topics else None})
            for fact in facts
        ),
        matching_unjudged=matched if isinstance(matched, Unjudged) else None,
        conclusion_topics={one: topics[one] for one in conclusion_ids} if topics else None,
        topics_unjudged=by_topic if isinstance(by_topic, Unjudged) else None,
    )


async def _match(
    case: "CoverageCase", gold: Gold, log: CallLog, settings: JudgeSettings
) -> tuple[GoldFact, ...] | Unjudged:
    try:
        return await match_gold(case, gold.facts, log, settings)
    except JudgeError as error:
        return Unjudged.of(error)


async def _sort(
    case: "CoverageCase", gold: Gold, log: CallLog, settings: JudgeSettings
) -> dict[str, str] | Unjudged:
    try:
        return await sort_by_topic(case, gold.facts, log, settings)
    except JudgeError as error:
        return Unjudged.of(error)

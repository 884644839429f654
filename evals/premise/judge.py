"""Judging one conclusion: two passes, minimality beside them, attribution after a failure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evals.errors import JudgeError
from evals.judging.asking import CallLog, side_by_side
from evals.judging.case import RunContext
from evals.judging.provenance import provenance_in
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.premise.ask import ask_attribution, ask_minimality, ask_pass_1, ask_pass_2
from evals.premise.render import PURPOSES, OpenSlot
from evals.premise.row import AttributedSlot, ConclusionRow
from evals.premise.schema import MinimalityItem, Pass1, Pass2, SettledSlot
from evals.premise.verdict import Verdict, verdict_of
from evals.records import Provenance, Unjudged

if TYPE_CHECKING:
    from evals.premise.case import PremiseCase


async def judge_conclusion(case: "PremiseCase", judge: Judge, context: RunContext) -> ConclusionRow:
    """Judge one conclusion (Component 1). Never raises ``JudgeError``.

    Pass 1 and then pass 2, minimality beside them, and, for a failed conclusion with a slot that
    the window does not settle, the attribution search where the trace has what was said earlier.
    Without an answer to pass 1 or 2 the row is unjudged and keeps what was answered; without
    minimality or attribution it says so and the verdict stands.

    Raises:
        IsolationError: the blind request leaked; nothing of it was sent.
        WrongModelError: another model answered than the pinned one.
    """
    log = CallLog(judge, PURPOSES)
    passes, minimality = await side_by_side(
        _passes(case, log, context), _minimality(case, log, context.settings)
    )
    attribution = await attribute_missing(case, passes, log, context.settings)
    verdict = passes.verdict
    outcome: Literal["sound", "unsound", "unjudged"] = "unjudged"
    if verdict is not None:
        outcome = "sound" if verdict.sound else "unsound"
    return ConclusionRow(
        kind="conclusion",
        instrument="premise",
        case_id=case.case_id,
        outcome=outcome,
        unjudged=passes.unjudged,
        calls=log.calls,
        provenance=provenance_of(case, context),
        conclusion_id=case.conclusion.conclusion_id,
        conversation_id=case.window.conversation_id,
        peer_id=case.conclusion.peer_id,
        text=case.conclusion.text,
        verdict=verdict,
        pass_1=passes.pass_1,
        pass_2=passes.pass_2,
        minimality=minimality if isinstance(minimality, MinimalityItem) else None,
        minimality_unjudged=minimality if isinstance(minimality, Unjudged) else None,
        missing=attribution.missing,
        attribution_scope=attribution.scope,
        attribution_unjudged=attribution.unjudged,
        token_count=len(case.conclusion.text.split()),
    )


@dataclass(frozen=True)
class Passes:
    """What the two passes gave for one conclusion."""

    pass_1: Pass1 | None
    pass_2: Pass2 | None
    verdict: Verdict | None
    """None exactly where a pass has no answer."""
    unjudged: Unjudged | None
    """Why there is no verdict; None where there is one."""


@dataclass(frozen=True)
class AttributedSlots:
    """What attribution gave for one conclusion; the fields are those of ``ConclusionRow``."""

    missing: tuple[AttributedSlot, ...]
    scope: Literal["window", "conversation"] | None
    unjudged: Unjudged | None


async def attribute_missing(
    case: "PremiseCase", passes: Passes, log: CallLog, settings: JudgeSettings
) -> AttributedSlots:
    """Say where each missing slot could have been settled (1.4). Never raises ``JudgeError``.

    Pass 2's reading of the window, and, for a failed conclusion with an absent slot whose window
    carries what was said earlier, the word of one further call (none where that is empty): said
    earlier is ABSENT_FROM_WINDOW, never said is ABSENT_EVERYWHERE.

    Returns:
        One entry a missing slot of pass 2, in its order. ``scope`` is ``conversation`` where what
        was said earlier decided, ``window`` where pass 2's reading stands, None where nothing is
        missing or there is no pass 2. Where the search gave no usable answer ``unjudged`` says why,
        and pass 2's reading stands.

    Raises:
        IsolationError: see ``Judge.ask``.
        WrongModelError: see ``Judge.ask``.
    """
    if passes.pass_1 is None or passes.pass_2 is None or not passes.pass_2.missing:
        return AttributedSlots((), None, None)
    as_read = tuple(
        AttributedSlot(slot=item.slot, attribution=item.attribution, evidence=item.evidence)
        for item in passes.pass_2.missing
    )
    absent = [item for item in as_read if item.attribution != "PRESENT_IN_WINDOW"]
    failed = passes.verdict is not None and not passes.verdict.sound
    earlier = case.window.earlier_messages
    if not failed or not absent or earlier is None:
        return AttributedSlots(as_read, "window", None)
    if not earlier:  # the window opens the conversation: nothing was said before it
        settled = [SettledSlot(slot=item.slot, said_earlier=False, evidence="") for item in absent]
    else:
        try:
            slots = [_open_slot(item, passes.pass_1) for item in absent]
            settled = list(await ask_attribution(case, slots, log, settings))
        except JudgeError as error:
            return AttributedSlots(as_read, "window", Unjudged.of(error))
    answers = iter(settled)
    missing = tuple(
        item if item.attribution == "PRESENT_IN_WINDOW" else _settle(item, next(answers))
        for item in as_read
    )
    return AttributedSlots(missing, "conversation", None)


def provenance_of(case: "PremiseCase", context: RunContext) -> Provenance:
    """Return what a row about this case must say of its making (4.1, 4.2)."""
    return provenance_in(context, case.window, case.prompts.hashes(), (case.conclusion,))


async def _passes(case: "PremiseCase", log: CallLog, context: RunContext) -> Passes:
    try:
        pass_1 = await ask_pass_1(case, log, context.settings)
    except JudgeError as error:
        return Passes(None, None, None, Unjudged.of(error))
    try:
        pass_2 = await ask_pass_2(case, pass_1, log, context.settings)
    except JudgeError as error:
        return Passes(pass_1.answer, None, None, Unjudged.of(error))
    verdict = verdict_of(
        pass_1.answer, pass_2.answer, over_inference_fails=context.over_inference_fails
    )
    return Passes(pass_1.answer, pass_2.answer, verdict, None)


async def _minimality(
    case: "PremiseCase", log: CallLog, settings: JudgeSettings
) -> MinimalityItem | Unjudged:
    try:
        return await ask_minimality(case, log, settings)
    except JudgeError as error:
        return Unjudged.of(error)


def _open_slot(item: AttributedSlot, pass_1: Pass1) -> OpenSlot:
    # The blind reader's words where it opened the slot; pass 2's where only pass 2 did.
    whys = [unknown.why for unknown in pass_1.unknown_slots if unknown.slot == item.slot]
    return OpenSlot(slot=item.slot, why=" / ".join(whys) or item.evidence)


def _settle(item: AttributedSlot, found: SettledSlot) -> AttributedSlot:
    if found.said_earlier:
        return AttributedSlot(
            slot=item.slot, attribution="ABSENT_FROM_WINDOW", evidence=found.evidence
        )
    return AttributedSlot(slot=item.slot, attribution="ABSENT_EVERYWHERE", evidence=item.evidence)

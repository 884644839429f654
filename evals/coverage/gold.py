"""Gold: what a window holds about its peers, and the filters each fact has to pass (3.1 to 3.3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evals.coverage.licence import licenses_nothing
from evals.coverage.render import gold_request
from evals.coverage.row import DroppedFact, GoldFact
from evals.coverage.schema import GoldAnswer, GoldItem
from evals.coverage.spans import message_with, plain_form
from evals.errors import InvalidOutputError
from evals.judging.asking import CallLog, answer_place
from evals.judging.request import JudgeSettings
from evals.untrusted import for_terminal

if TYPE_CHECKING:
    from evals.coverage.case import CoverageCase


DropReason = Literal[
    "span_not_found", "no_inference", "relative_time", "unknown_peer", "repeated", "too_long"
]
MOST_FACT_CHARS = 1_000
"""An atomic fact has a tenth of it; a message quoted whole is none, and costs minutes to check."""


@dataclass(frozen=True)
class Gold:
    """The gold of one window, not yet matched."""

    source: Literal["judge", "audited"]
    facts: tuple[GoldFact, ...]
    """In the judge's order: ``g1``, ``g2``, …; no status and no topic yet."""
    dropped: tuple[DroppedFact, ...]


async def find_gold(case: "CoverageCase", log: CallLog, settings: JudgeSettings) -> Gold:
    """Return a window's gold: a person's where there is one (3.7), else the judge's, in one call.

    Both pass the same filters.

    Raises:
        InvalidOutputError: a fact has no text.
        JudgeError: otherwise as ``CallLog.ask``, with its other errors.
    """
    if case.audited is not None:
        return _filtered(case, case.audited, "audited")
    answered = await log.ask(gold_request(case, settings), GoldAnswer)
    for item in answered.answer.facts:
        if not item.fact.strip():
            raise InvalidOutputError(
                answer_place(answered),
                f"a fact without text, with the span {for_terminal(item.source_span, 60)!r}",
                "a statement",
                "Ask again with another --judge-repeat, or check the prompt.",
            )
    return _filtered(case, answered.answer.facts, "judge")


def _filtered(
    case: "CoverageCase", items: Iterable[GoldItem], source: Literal["judge", "audited"]
) -> Gold:
    facts: list[GoldFact] = []
    dropped: list[DroppedFact] = []
    kept_as: dict[tuple[str, str], str] = {}
    for item in items:
        message_id = message_with(item.source_span, case.window.messages)
        same = (item.peer_id, plain_form(item.fact).casefold().rstrip(" ."))
        refusal = _refusal(item, case.peers, message_id)
        if refusal is None and same in kept_as:
            refusal = "repeated", f"the same as {kept_as[same]}"
        if refusal is not None:
            reason, detail = refusal
            dropped.append(
                DroppedFact(
                    fact=item.fact, source_span=item.source_span, reason=reason, detail=detail
                )
            )
            continue
        assert message_id is not None
        kept_as[same] = f"g{len(facts) + 1}"
        facts.append(
            GoldFact(
                **item.model_dump(),
                gold_id=f"g{len(facts) + 1}",
                message_id=message_id,
                status=None,
                covering=(),
                why=None,
                topic=None,
            )
        )
    return Gold(source=source, facts=tuple(facts), dropped=tuple(dropped))


def _refusal(
    item: GoldItem, peers: Sequence[str], message_id: str | None
) -> tuple[DropReason, str] | None:
    """Return why a fact is dropped, or None; the first filter that refuses it counts."""
    if item.peer_id not in peers:
        return "unknown_peer", f"about {item.peer_id!r}, not one of {', '.join(map(repr, peers))}"
    if message_id is None:
        return "span_not_found", "the span is in no message of the window, or too short to tell"
    if len(item.fact) > MOST_FACT_CHARS:
        return "too_long", f"{len(item.fact)} characters, at most {MOST_FACT_CHARS}"
    from evals.coverage.relative_time import relative_expressions  # noqa: PLC0415  60 ms of patterns, only where facts are read

    found = relative_expressions(item.fact)
    if found:
        return "relative_time", ", ".join(map(repr, found))
    # However it is written: a fact is dropped here and counted, so nothing is gained by guessing.
    if licenses_nothing(item.licensed_inference):
        return "no_inference", f"licenses {item.licensed_inference!r}"
    return None

"""What the judge answers in each call of the premise judge, and nothing looser.

Closed sets are the specification's two (time status, attribution) and the interpretation. Slots,
kinds, force and labels are strings: the vocabulary of failures is the judge's, never an enum (4.5).
"""

import re
import unicodedata
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

TimeStatus = Literal[
    "ANCHORED_CORRECTLY",
    "SELF_ANCHORING",
    "HEDGED_APPROPRIATELY",
    "ANCHORED_TO_BAD_TIMESTAMP",
    "UNANCHORED",
    "ANCHORED_INCORRECTLY",
]
Attribution = Literal["PRESENT_IN_WINDOW", "ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE"]

NO_INFERENCE = "NONE"
"""What ``licensed_inference`` says where the conclusion licenses nothing."""
OVER_INFERENCE = "OVER_INFERENCE"
"""The one kind of unsupported element that policy can excuse (1.3)."""
_SAYS_NONE = re.compile(
    r"[\W_]*none(?![^\W_])(?!\s+(?:of\s+\w|but\s+\w|other\s+than\s+\w))", re.IGNORECASE
)
"""The word none at the start, in whatever quotes, case or punctuation, and not as the subject of a
sentence: "None of her siblings can …" goes on with ``of``, "None: a tautology" does not."""


class Answer(BaseModel):
    """Base of the judge's answers: exact keys, no coercion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _unit_interval(value: float) -> float:
    if not 0 <= value <= 1:
        message = f"{value} is outside 0 to 1"
        raise ValueError(message)
    return value


class UnknownSlot(Answer):
    """A slot that the statement opens and does not settle."""

    slot: str
    why: str


class Pass1(Answer):
    """Pass 1, blind: the conclusion text is its only input."""

    reconstruction: str
    unknown_slots: tuple[UnknownSlot, ...]
    licensed_inference: str
    """Text, or ``NONE``."""
    force: str
    decontextuality: float
    """Share of the meaning that survives without the source, 0 to 1."""
    bundled: bool
    labels: tuple[str, ...]

    _bounds = field_validator("decontextuality")(_unit_interval)

    @field_validator("licensed_inference")
    @classmethod
    def _none_is_exact(cls, value: str) -> str:
        # "None." or "None - vacuous" would read as an inference and turn a fail into a pass. They
        # are refused, not guessed at; an inference refused in error is unjudged, a lesser harm.
        if value == NO_INFERENCE:
            return value
        if not value.strip() or _SAYS_NONE.match(unicodedata.normalize("NFKC", value)):
            message = f"{value!r} is neither an inference nor exactly {NO_INFERENCE}"
            raise ValueError(message)
        return value


class UnsupportedElement(Answer):
    """Words of the conclusion that the window does not license."""

    element: str
    kind: str
    why: str


class MissingSlot(Answer):
    """An open slot, and where it could have been settled."""

    slot: str
    attribution: Attribution
    evidence: str


class Pass2(Answer):
    """Pass 2, sighted: conclusion, pass-1 JSON, peer id and window."""

    license_check: str
    interpretation: Literal["MATCH", "MISMATCH"]
    unsupported_elements: tuple[UnsupportedElement, ...]
    force_preserved: bool
    time_status: TimeStatus
    missing: tuple[MissingSlot, ...]
    labels: tuple[str, ...]


class MinimalityItem(Answer):
    """One conclusion's minimality."""

    conclusion_id: str
    claims: tuple[str, ...]
    """The separate claims that it makes, in the judge's words."""
    padding: tuple[str, ...]
    """Words that carry nothing: fillers, repetition, comment on the conversation."""
    minimality: float
    """1 for one claim without padding, 0 to 1."""

    _bounds = field_validator("minimality")(_unit_interval)


class MinimalityAnswer(Answer):
    """Minimality of every conclusion of a window, by id."""

    items: tuple[MinimalityItem, ...]


class SettledSlot(Answer):
    """What the earlier conversation says about one slot that the window leaves open."""

    slot: str
    said_earlier: bool
    evidence: str
    """The earlier words that settle it; empty where none do."""


class AttributionAnswer(Answer):
    """Attribution search: every absent slot, against the conversation before the window."""

    slots: tuple[SettledSlot, ...]

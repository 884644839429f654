"""One specimen of the gallery: a conclusion, its window, and what the judge must make of them."""

from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from evals.premise.schema import Attribution, TimeStatus
from evals.records import Conclusion, Message, Window, conclusion_id_of, window_text_hash_of
from evals.untrusted import for_id


def _sendable(text: str) -> str:
    if not text.strip():
        raise ValueError("blank text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character ({text[error.start]!a})") from error
    return text


def _time_from_text(value: Any) -> Any:
    # YAML itself reads an unquoted time as a datetime; a quoted one is text.
    if not isinstance(value, str):
        return value
    if len(value) <= len("2026-07-03"):  # would be read as midnight, which nobody said
        raise ValueError("a date and a time of day, in ISO 8601")
    return datetime.fromisoformat(value)


Text = Annotated[str, AfterValidator(_sendable)]
Nothing = Annotated[tuple[str, ...], Field(max_length=0)]
"""Only ``[]``."""
Share = Annotated[float, Field(ge=0, le=1)]


class _Given(BaseModel):
    """Base of what the file holds: exact keys, no coercion, no empty value."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _no_empty_value(cls, value: Any) -> Any:
        # `unknown_slots:` with the [] forgotten would be an expectation that asserts nothing.
        if isinstance(value, dict):
            empty = [key for key, item in value.items() if item is None and key != "at"]
            if empty:
                raise ValueError(f"no value after {', '.join(empty)}: write one, or drop the key")
        return value


class GivenMessage(_Given):
    """One message of the window, or of the conversation before it."""

    at: Annotated[datetime, BeforeValidator(_time_from_text)] | None
    """ISO 8601; null where it has no time."""
    peer: Text
    text: Text


class ExpectedPass1(_Given):
    """What pass 1 alone must show. A key that is left out is not asserted."""

    decontextuality_min: Share | None = None
    """Inclusive."""
    decontextuality_max: Share | None = None
    """Inclusive."""
    unknown_slots: Nothing | None = None
    """``[]``: there must be none."""
    unknown_slots_include: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """At least these."""
    licensed_inference: Literal["present", "NONE"] | None = None

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        low, high = self.decontextuality_min, self.decontextuality_max
        if low is not None and high is not None and low > high:
            raise ValueError(f"decontextuality_min {low} is over decontextuality_max {high}")
        if self.unknown_slots is not None and self.unknown_slots_include is not None:
            raise ValueError("unknown_slots: [] and unknown_slots_include contradict each other")
        return self


class ExpectedMissing(_Given):
    """One slot that must be named as missing, and where it could have been settled."""

    slot: Text
    attribution: Attribution


class ExpectedPass2(_Given):
    """What pass 2 must show. A key that is left out is not asserted."""

    interpretation: Literal["MATCH", "MISMATCH"] | None = None
    force_preserved: bool | None = None
    time_status_in: Annotated[tuple[TimeStatus, ...], Field(min_length=1)] | None = None
    """One of these."""
    unsupported_elements: Nothing | None = None
    """``[]``: there must be none."""
    unsupported: Literal["present"] | None = None
    """At least one, of whatever kind."""
    unsupported_kinds_include: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """At least one of each of these kinds."""
    missing_include: Annotated[tuple[ExpectedMissing, ...], Field(min_length=1)] | None = None
    """At least these."""

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        some = self.unsupported is not None or self.unsupported_kinds_include is not None
        if self.unsupported_elements is not None and some:
            raise ValueError("unsupported_elements: [] and unsupported* contradict each other")
        return self


class Specimen(_Given):
    """One pre-adjudicated conclusion (1.6.1)."""

    id: Text
    peer_id: Text
    """Whom the conclusion is about."""
    conclusion: Text
    window: Annotated[tuple[GivenMessage, ...], Field(min_length=1)]
    earlier: tuple[GivenMessage, ...] | None = None
    """The conversation before the window; ``[]`` where the window opens it. Where the key is left
    out it is not known, and no attribution search is made."""
    verdict: Literal["pass", "fail"]
    """The adjudicated verdict of the whole judge, under the specification's policy (1.3)."""
    pass_1: ExpectedPass1 = ExpectedPass1()
    pass_2: ExpectedPass2 = ExpectedPass2()
    attribution: Annotated[tuple[ExpectedMissing, ...], Field(min_length=1)] | None = None
    """At least these, after the search of ``earlier`` (1.4)."""
    why: Text | None = None
    """The adjudication's reason, for people."""

    @field_validator("attribution")
    @classmethod
    def _attribution_can_be_met(
        cls, value: tuple[ExpectedMissing, ...] | None, info: ValidationInfo
    ) -> tuple[ExpectedMissing, ...] | None:
        # A key above that could not be read is not in info.data and is an error of its own.
        if info.data.get("verdict") == "pass":
            raise ValueError("attribution only beside `verdict: fail`: a pass has no failure")
        if "earlier" not in info.data or value is None:
            return value
        if info.data["earlier"] is None:
            raise ValueError("attribution only beside `earlier`: without it nothing is searched")
        wanted = {item.attribution for item in value}
        if not info.data["earlier"] and "ABSENT_FROM_WINDOW" in wanted:
            raise ValueError("`earlier: []` and ABSENT_FROM_WINDOW contradict each other")
        return value

    @property
    def slug(self) -> str:
        """The id for test ids: itself where it is short plain ASCII, else cut and hashed."""
        slug = for_id(self.id)
        return slug if slug == self.id else f"{slug}-{sha256(self.id.encode()).hexdigest()[:8]}"

    @cached_property
    def as_window(self) -> Window:
        """The specimen as a trace would give it, so that it is judged like any conclusion."""
        messages = _messages(self.window, "m")
        window_id = f"gallery-{self.slug}"
        conclusion = Conclusion(
            conclusion_id=conclusion_id_of(window_id, 0, self.conclusion),
            ordinal=0,
            peer_id=self.peer_id,
            text=self.conclusion,
            deriver_prompt_hash=None,
            deriver_model_id=None,
            derived_at=None,
        )
        return Window(
            window_id=window_id,
            conversation_id=None,
            peer_id=self.peer_id,
            messages=messages,
            window_text_hash=window_text_hash_of(messages),
            window_reconstructed=False,
            dataset_shape="benchmark",
            earlier_messages=None if self.earlier is None else _messages(self.earlier, "e"),
            conclusions=(conclusion,),
        )


def _messages(given: tuple[GivenMessage, ...], prefix: str) -> tuple[Message, ...]:
    return tuple(
        Message(message_id=f"{prefix}{number}", peer_id=item.peer, text=item.text, sent_at=item.at)
        for number, item in enumerate(given, 1)
    )

"""What the Batches API says, read strictly and no further than needed."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
)

from evals.untrusted import for_terminal

ShapeT = TypeVar("ShapeT", bound=BaseModel)

ENDED = "ended"
"""``processing_status`` of a batch whose results are there."""


class NotOfTheApiError(ValueError):
    """A text is not what the Batches API says; whoever read it says where it came from."""


class _Part(BaseModel):
    # The API adds keys over time, so unknown ones are let be; the ones used here must fit.
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class RequestCounts(_Part):
    """Requests of a batch by state; until the whole batch has ended all are ``processing``."""

    processing: int
    succeeded: int
    errored: int
    canceled: int
    expired: int

    @property
    def total(self) -> int:
        """All requests of the batch."""
        return self.processing + self.succeeded + self.errored + self.canceled + self.expired


NO_COUNTS = RequestCounts(processing=0, succeeded=0, errored=0, canceled=0, expired=0)


def sum_of(counts: Iterable[RequestCounts]) -> RequestCounts:
    """Return the counts of several batches together."""
    known = list(counts)
    return RequestCounts(
        processing=sum(each.processing for each in known),
        succeeded=sum(each.succeeded for each in known),
        errored=sum(each.errored for each in known),
        canceled=sum(each.canceled for each in known),
        expired=sum(each.expired for each in known),
    )


class BatchState(_Part):
    """A batch as the API describes it."""

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,200}$")
    """Goes into addresses, so it must not be able to change one."""
    processing_status: str
    """``in_progress``, ``canceling`` or ``ended``."""
    created_at: AwareDatetime
    request_counts: RequestCounts
    archived_at: AwareDatetime | None = None
    """Since when its results are gone: they are kept for 29 days after ``created_at``."""
    results_url: str | None = None
    """None until it has ended, and once its results are gone."""


class BatchPage(_Part):
    """One page of the list of batches, newest first."""

    data: tuple[BatchState, ...]
    has_more: bool


class Succeeded(_Part):
    """An answer."""

    type: Literal["succeeded"]
    message: dict[str, Any]
    """As it came."""


class _ErrorObject(_Part):
    type: str
    message: str


class _ErrorResponse(_Part):
    error: _ErrorObject


class Errored(_Part):
    """The request failed; it is not billed."""

    type: Literal["errored"]
    error: _ErrorResponse


class Unanswered(_Part):
    """``expired`` or ``canceled``: it was never sent to the model, and is not billed."""

    type: str


def _result_tag(result: object) -> str:
    kind = result.get("type") if isinstance(result, dict) else None
    return kind if kind in {"succeeded", "errored"} else "unanswered"


class ResultLine(_Part):
    """One line of a batch's results."""

    custom_id: str
    result: Annotated[
        Annotated[Succeeded, Tag("succeeded")]
        | Annotated[Errored, Tag("errored")]
        | Annotated[Unanswered, Tag("unanswered")],
        Discriminator(_result_tag),
    ]


def read(shape: type[ShapeT], text: str | bytes) -> ShapeT:
    """Read what the API said.

    Raises:
        NotOfTheApiError: it is no ``shape``; says what is wrong, fit for a terminal.
    """
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise NotOfTheApiError(for_terminal(f"{place}: {first['msg']}", 200)) from None

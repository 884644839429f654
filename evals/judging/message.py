"""The Messages API's answer: the one place where its JSON is read, and where its model is checked.

Read strictly, and no further than needed: what the answer *says* is read by ``parse_answer``.
"""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Tag, ValidationError

from evals.errors import WrongModelError
from evals.judging.request import JudgeRequest
from evals.judging.response import JudgeResponse
from evals.records import AnswerSource, Call
from evals.untrusted import for_terminal


class NotAMessageError(ValueError):
    """A text is not a Message of the API; whoever read it says where it came from."""


class _Part(BaseModel):
    # The API adds keys over time, so unknown ones are let be; the ones used here must fit.
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class _TextBlock(_Part):
    type: Literal["text"]
    text: str


class _OtherBlock(_Part):
    type: str
    """``thinking``, ``redacted_thinking``, …: not part of the answer."""


def _block_tag(block: object) -> str:
    return "text" if isinstance(block, dict) and block.get("type") == "text" else "other"


_Block = Annotated[
    Annotated[_TextBlock, Tag("text")] | Annotated[_OtherBlock, Tag("other")],
    Discriminator(_block_tag),
]


class Usage(_Part):
    """Tokens as the API counted them."""

    input_tokens: int
    """Read in full: neither from the cache nor written to it."""
    cache_read_input_tokens: int | None = None
    """None where the server does not say."""
    cache_creation_input_tokens: int | None = None
    output_tokens: int


class ApiMessage(_Part):
    """What is used of a Message. ``stop_reason`` and ``usage`` must be there and may be null."""

    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: tuple[_Block, ...]
    stop_reason: str | None
    usage: Usage | None

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, _TextBlock))


def parse_message(text: str | bytes) -> ApiMessage:
    """Read a Message.

    Raises:
        NotAMessageError: it is not one; says what is wrong, fit for a terminal.
    """
    try:
        return ApiMessage.model_validate_json(text)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'the whole'}: {item['msg']}"
            for item in error.errors(include_url=False)[:3]
        )
        raise NotAMessageError(for_terminal(problems, 300)) from None


def response_of(
    message: ApiMessage, request: JudgeRequest, source: AnswerSource, attempts: int
) -> JudgeResponse:
    """Return the answer to ``request`` together with what a row records of it.

    Args:
        message: what answered.
        request: what was asked.
        source: where this run got the message from.
        attempts: HTTP attempts that this run made for it; 0 from store and recording.
    """
    usage = message.usage
    return JudgeResponse(
        text=message.text,
        stop_reason=message.stop_reason,
        call=Call(
            purpose=request.purpose,
            request_hash=request.request_hash,
            prompt_hash=request.prompt.prompt_hash,
            source=source,
            model_asked=request.settings.model,
            model_served=message.model,
            input_tokens=None if usage is None else usage.input_tokens,
            cache_read_tokens=None if usage is None else usage.cache_read_input_tokens,
            cache_write_tokens=None if usage is None else usage.cache_creation_input_tokens,
            output_tokens=None if usage is None else usage.output_tokens,
            attempts=attempts,
        ),
    )


def is_pinned_model(asked: str, served: str) -> bool:
    """Tell whether ``served`` is the model ``asked`` for, or its dated snapshot (1.5)."""
    return re.fullmatch(re.escape(asked) + r"(-\d{8})?", served) is not None


class ModelPin:
    """Holds every answer of a run to one served model for each asked one (1.5)."""

    def __init__(self) -> None:
        self._served: dict[str, str] = {}

    def check(self, where: str, asked: str, served: str) -> None:
        """Accept ``served`` as the answer to ``asked``, or refuse it.

        Raises:
            WrongModelError: it is another model, or another snapshot than the run saw before.
        """
        if not is_pinned_model(asked, served):
            raise WrongModelError(
                where,
                f"an answer of model {for_terminal(served)!r}",
                f"{asked!r} or its dated snapshot {asked + '-YYYYMMDD'!r}",
                "Pin the model that the server serves with --judge-model.",
            )
        first = self._served.setdefault(asked, served)
        if first != served:
            raise WrongModelError(
                where,
                f"an answer of model {for_terminal(served)!r}, after answers of {first!r}",
                "one served model in the whole run (1.5)",
                "Pin one dated snapshot with --judge-model.",
            )

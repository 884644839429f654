"""The user text of a request, and the length beyond which none is made: one for every judge."""

from collections.abc import Mapping

from evals.errors import TooLargeError
from evals.judging.prompts import Prompt

REQUEST_LIMIT_CHARS = 150_000
"""Instructions and user text together. Chinese and Japanese come to about one token a character, so
that this fits a context of 200,000 tokens with the answer in any language; English comes to about
40,000 tokens, some 1,500 chat messages."""


def user_text(where: str, prompt: Prompt, values: Mapping[str, str], holds: str = "") -> str:
    """Return the user text of a request, whole.

    Args:
        where: the case or the request, for the message.
        prompt: to fill in.
        values: what its template is given.
        holds: what there is so much of, for the message: ``2 conclusions, 5 messages``; empty:
            the prompt is named.

    Raises:
        TooLargeError: with the instructions it is longer than ``REQUEST_LIMIT_CHARS``. It is
            refused whole: of what was cut off the answer would say nothing, without a word.
        PromptError: see ``Prompt.render``.
    """
    holds = holds or prompt.name
    # Before it is put together, and that for each conclusion anew: a window can be of any size.
    frame = len(prompt.system) + len(prompt.render(dict.fromkeys(values, "")))
    check_length(where, frame + sum(map(len, values.values())), holds)
    return prompt.render(values)


def check_length(where: str, chars: int, holds: str) -> None:
    """Refuse what is longer than ``REQUEST_LIMIT_CHARS``.

    Raises:
        TooLargeError: it is; see ``user_text``.
    """
    if chars > REQUEST_LIMIT_CHARS:
        raise TooLargeError(
            where,
            f"a request of {chars:,} characters ({holds})",
            f"at most {REQUEST_LIMIT_CHARS:,} characters",
            "Nothing was sent and nothing cut. Run the deriver over smaller windows.",
        )

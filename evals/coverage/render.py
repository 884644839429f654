"""The requests for gold, matching and topics; those of the QA path are in ``qa_render``.

Everything that strangers wrote goes in as JSON between tags (``evals.untrusted.for_prompt``).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from evals.coverage.calls import GOLD_PURPOSE, MATCHING_PURPOSE, TOPICS_PURPOSE
from evals.coverage.row import GoldFact
from evals.coverage.schema import GoldAnswer, MatchAnswer, TopicAnswer
from evals.errors import TooLargeError
from evals.judging.prompts import Prompt
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.request_text import user_text
from evals.judging.response import schema_of
from evals.judging.window_text import json_lines
from evals.records import Conclusion
from evals.untrusted import for_prompt

if TYPE_CHECKING:
    from evals.coverage.case import CoverageCase

MOST_FACTS = 80
"""Gold facts of one window. Ordinary windows hold 5 to 40; the bound keeps the answer, and the
matching of it, within what one request may write. The judge keeps the most important ones."""

# Token limits bound what a runaway answer can cost. With the thinking allowance no request goes
# over 21,333, the most that the API's client lets one answer without streaming have.
ANSWER_FRAME_TOKENS = 500
"""What surrounds the items in an answer that lists them."""
TOKENS_PER_FACT = 160
"""A gold fact with its span and inference: some 120 in a usual answer."""
TOKENS_PER_MATCH = 110
"""An id, a status, two or three conclusion ids, a few words of why: some 70 in a usual answer."""
TOKENS_PER_TOPIC = 40
"""An id and a topic: some 25 in a usual answer."""
MOST_ANSWER_TOKENS = ANSWER_FRAME_TOKENS + MOST_FACTS * TOKENS_PER_FACT
"""13,300. An item that would need a longer answer is refused whole."""
THINKING_TOKENS = 8_000
"""Added where the judge reasons: thinking counts against the same limit."""

_GOLD_SCHEMA = schema_of(GoldAnswer)
_MATCHING_SCHEMA = schema_of(MatchAnswer)
_TOPICS_SCHEMA = schema_of(TopicAnswer)


def gold_request(case: "CoverageCase", settings: JudgeSettings) -> JudgeRequest:
    """Return the request for the gold of a window: it sees the peers and the window alone.

    Raises:
        TooLargeError: it is too long: see ``user_text``.
    """
    values = {
        "peers": json_lines(case.peers),
        "most_facts": for_prompt(MOST_FACTS),
        "window": case.window_lines,
    }
    return JudgeRequest(
        purpose=GOLD_PURPOSE,
        settings=settings,
        prompt=case.prompts.gold,
        user=user_text(case.case_id, case.prompts.gold, values),
        answer_schema=_GOLD_SCHEMA,
        max_tokens=_limit(case.case_id, MOST_ANSWER_TOKENS, settings),
    )


def matching_request(
    where: str,
    gold: Sequence[GoldFact],
    conclusions: Sequence[Conclusion],
    settings: JudgeSettings,
    prompt: Prompt,
) -> JudgeRequest:
    """Return the request that looks for gold facts in conclusions; it does not see the window.

    Raises:
        TooLargeError: the request or its answer would not fit; ``where`` names the case.
    """
    values = {
        "gold": json_lines(
            {"gold_id": item.gold_id, "peer_id": item.peer_id, "fact": item.fact} for item in gold
        ),
        "conclusions": json_lines(
            {"conclusion_id": item.conclusion_id, "peer_id": item.peer_id, "text": item.text}
            for item in conclusions
        ),
    }
    wanted = ANSWER_FRAME_TOKENS + TOKENS_PER_MATCH * len(gold)
    return JudgeRequest(
        purpose=MATCHING_PURPOSE,
        settings=settings,
        prompt=prompt,
        user=user_text(where, prompt, values),
        answer_schema=_MATCHING_SCHEMA,
        max_tokens=_limit(where, wanted, settings),
    )


def topics_request(
    where: str, items: Iterable[tuple[str, str]], settings: JudgeSettings, prompt: Prompt
) -> JudgeRequest:
    """Return the request that sorts statements by topic: (item id, text), gold facts first.

    One list for both, so that both get one vocabulary (3.5).

    Raises:
        TooLargeError: the request or its answer would not fit; ``where`` names the case.
    """
    listed = list(items)
    lines = json_lines({"item_id": item_id, "text": text} for item_id, text in listed)
    wanted = ANSWER_FRAME_TOKENS + TOKENS_PER_TOPIC * len(listed)
    return JudgeRequest(
        purpose=TOPICS_PURPOSE,
        settings=settings,
        prompt=prompt,
        user=user_text(where, prompt, {"statements": lines}),
        answer_schema=_TOPICS_SCHEMA,
        max_tokens=_limit(where, wanted, settings),
    )


def _limit(where: str, answer_tokens: int, settings: JudgeSettings) -> int:
    if answer_tokens > MOST_ANSWER_TOKENS:
        raise TooLargeError(
            where,
            f"a window whose answer may need {answer_tokens:,} tokens",
            f"at most {MOST_ANSWER_TOKENS:,}",
            "Judge smaller windows: nothing is cut to fit.",
        )
    return answer_tokens + (THINKING_TOKENS if settings.reasoning == "adaptive" else 0)

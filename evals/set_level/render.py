"""The one request of the set-level bench: a batch of conclusions with its window (2.2).

Everything that strangers wrote goes in as JSON between tags (``evals.untrusted.for_prompt``), so
that no text can close its tag or pose as another conclusion or message.
"""

from dataclasses import dataclass

from evals.judging.prompts import PROMPTS_DIR, Prompt, load_prompt
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.request_text import user_text
from evals.judging.response import schema_of
from evals.judging.window_text import json_lines, message_lines
from evals.records import Conclusion, Window
from evals.set_level.schema import SetIssuesAnswer

SET_LEVEL_PURPOSE = "set_level.judge"

ANSWER_FRAME_TOKENS = 500
"""What surrounds the issues in an answer."""
ANSWER_TOKENS_PER_CONCLUSION = 120
"""Were every conclusion in a group: its id, and its share of the group's evidence."""
MAX_ANSWER_TOKENS = 13_000
"""Room for some hundred conclusions in groups; an answer that needs more is cut off and the batch
unjudged (truncated)."""
THINKING_TOKENS = 8_000
"""Added where the judge reasons: thinking counts against the same limit."""

_SCHEMA = schema_of(SetIssuesAnswer)


@dataclass(frozen=True)
class SetLevelPrompts:
    """The prompt of the set-level bench, read once a run."""

    judge: Prompt

    def hashes(self) -> dict[str, str]:
        """Return prompt name -> hash, for provenance (4.2)."""
        return {self.judge.name: self.judge.prompt_hash}


def load_set_level_prompts() -> SetLevelPrompts:
    """Read the prompt from ``prompts/set_level/``.

    Raises:
        PromptError: a file is missing or is not UTF-8.
    """
    return SetLevelPrompts(judge=load_prompt("set_level/judge", PROMPTS_DIR))


def set_issues_request(
    where: str, window: Window, settings: JudgeSettings, prompts: SetLevelPrompts
) -> JudgeRequest:
    """Return the request about all conclusions of a window.

    Args:
        where: the case, for the message.
        window: the batch and the messages that it was minted from.
        settings: the run's.
        prompts: the run's.

    Raises:
        TooLargeError: it is too long: see ``user_text``.
    """
    values = {
        "conclusions": json_lines(_described(item) for item in window.conclusions),
        "window": message_lines(window.messages),
    }
    holds = f"{len(window.conclusions):,} conclusions, {len(window.messages):,} messages"
    wanted = ANSWER_FRAME_TOKENS + ANSWER_TOKENS_PER_CONCLUSION * len(window.conclusions)
    thinking = THINKING_TOKENS if settings.reasoning == "adaptive" else 0
    return JudgeRequest(
        purpose=SET_LEVEL_PURPOSE,
        settings=settings,
        prompt=prompts.judge,
        user=user_text(where, prompts.judge, values, holds),
        answer_schema=_SCHEMA,
        max_tokens=min(wanted, MAX_ANSWER_TOKENS) + thinking,
    )


def _described(conclusion: Conclusion) -> dict[str, str | None]:
    written = conclusion.derived_at
    return {
        "conclusion_id": conclusion.conclusion_id,
        "peer": conclusion.peer_id,
        "derived_at": None if written is None else written.isoformat(" ", "seconds"),
        "text": conclusion.text,
    }

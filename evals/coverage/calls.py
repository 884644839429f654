"""The calls of the coverage bench: what each is for, and how many a window costs at most.

| purpose | calls a window | none where |
|---|---|---|
| gold | 1 | a person's audited gold stands in for it |
| matching | 0 or 1 | there is no gold fact or no conclusion |
| question generation | 1 | |
| answering | 0 or 1 a question | there is no conclusion |
| comparison | 0 or 1 | the harness settles every answer by itself |
| topics | 0 or 1 | there is nothing to sort |
"""

from typing import NamedTuple

GOLD_PURPOSE = "coverage.gold"
MATCHING_PURPOSE = "coverage.matching"
QUESTION_GENERATION_PURPOSE = "coverage.question_generation"
ANSWERING_PURPOSE = "coverage.answering"
COMPARISON_PURPOSE = "coverage.comparison"
TOPICS_PURPOSE = "coverage.topics"
PURPOSES = (
    GOLD_PURPOSE,
    MATCHING_PURPOSE,
    QUESTION_GENERATION_PURPOSE,
    ANSWERING_PURPOSE,
    COMPARISON_PURPOSE,
    TOPICS_PURPOSE,
)
"""In the order in which a row lists its calls."""

MAX_QUESTIONS = 5
"""Questions about one window. Each costs a call of its own, so this bounds what a window costs; and
with more, the questions about one window begin to ask for the same fact again."""


class CallRange(NamedTuple):
    """Calls that one window may cost."""

    least: int
    most: int


CALLS_A_WINDOW = {
    GOLD_PURPOSE: CallRange(0, 1),
    MATCHING_PURPOSE: CallRange(0, 1),
    QUESTION_GENERATION_PURPOSE: CallRange(1, 1),
    ANSWERING_PURPOSE: CallRange(0, MAX_QUESTIONS),
    COMPARISON_PURPOSE: CallRange(0, 1),
    TOPICS_PURPOSE: CallRange(0, 1),
}
"""The stated number of calls; a test counts them. In all at most 5 + MAX_QUESTIONS."""

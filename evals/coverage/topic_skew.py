"""Topic skew (3.5): what the conclusions are about, against what the gold facts are about.

Window by window: the judge names the topics of each window in words of their own, so that a topic
of one window says nothing of another's.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from evals.coverage.row import CoverageRow, GoldFact
from evals.policy import CoveragePolicy
from evals.records import Record
from evals.untrusted import for_terminal


class TopicFlag(Record):
    """One sign of skew, with the threshold that it went over."""

    window_id: str
    kind: Literal["absent", "dominant"]
    topic: str
    share: float
    """Of the gold facts where it is absent, of the conclusions where it is dominant; 0 to 1."""
    threshold: float
    """The share has to be over it."""
    text: str
    """One sentence for terminal and page, without the window."""


class TopicGroups(NamedTuple):
    """The topics of one window, one entry a fact or conclusion."""

    gold: tuple[str, ...]
    conclusions: tuple[str, ...]


def topic_groups(row: CoverageRow, counts: Callable[[GoldFact], bool]) -> TopicGroups | None:
    """Return the topics of a window, or None where gold or topics are unjudged.

    Args:
        row: the window.
        counts: which gold facts count.
    """
    if row.gold is None or row.topics_unjudged is not None:
        return None
    gold = tuple(fact.topic for fact in row.gold if fact.topic is not None and counts(fact))
    return TopicGroups(gold, tuple((row.conclusion_topics or {}).values()))


def flags_of_window(
    window_id: str, group: TopicGroups | None, policy: CoveragePolicy
) -> tuple[TopicFlag, ...]:
    """Return the flags of a window, as ``topic_flags``; none where its topics are unjudged."""
    if group is None:
        return ()
    return topic_flags(window_id, Counter(group.gold), Counter(group.conclusions), policy)


def topic_flags(
    window_id: str,
    gold: Mapping[str, int],
    conclusions: Mapping[str, int],
    policy: CoveragePolicy,
) -> tuple[TopicFlag, ...]:
    """Return the flags over a window's two distributions: absent topics first, heaviest first.

    A gold topic is flagged if its share is over ``absent_topic_share`` and no conclusion has it; a
    topic of conclusions, if its share is over ``dominant_topic_share`` while gold has at least
    ``diverse_topics`` topics.
    """
    return (
        *_absent(window_id, gold, conclusions, policy),
        *_dominant(window_id, gold, conclusions, policy),
    )


def _absent(
    window_id: str, gold: Mapping[str, int], conclusions: Mapping[str, int], policy: CoveragePolicy
) -> list[TopicFlag]:
    limit, total = policy.absent_topic_share, sum(gold.values())
    return [
        TopicFlag(
            window_id=window_id,
            kind="absent",
            topic=topic,
            share=count / total,
            threshold=limit,
            text=(
                f"Topic {for_terminal(topic, 60)!r} has {count} of {total} gold facts, "
                f"over {limit:.0%}, and no conclusion."
            ),
        )
        for topic, count in _heaviest_first(gold)
        if count / total > limit and topic not in conclusions
    ]


def _dominant(
    window_id: str, gold: Mapping[str, int], conclusions: Mapping[str, int], policy: CoveragePolicy
) -> list[TopicFlag]:
    limit, total = policy.dominant_topic_share, sum(conclusions.values())
    if len(gold) < policy.diverse_topics:
        return []
    return [
        TopicFlag(
            window_id=window_id,
            kind="dominant",
            topic=topic,
            share=count / total,
            threshold=limit,
            text=(
                f"Topic {for_terminal(topic, 60)!r} has {count} of {total} conclusions, "
                f"over {limit:.0%}, while gold has {len(gold)} topics."
            ),
        )
        for topic, count in _heaviest_first(conclusions)
        if count / total > limit
    ]


def _heaviest_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))

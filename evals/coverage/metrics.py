"""The metrics of the coverage bench (3.1 to 3.5): pure functions of its rows and of policy."""

from collections.abc import Callable, Iterable, Sequence

from evals.coverage.row import CoverageRow, GoldFact, Question
from evals.coverage.schema import AnswerGrade, Importance
from evals.coverage.share import Share, share_of
from evals.coverage.topic_skew import TopicFlag, flags_of_window, topic_groups
from evals.coverage.weights import credit_of, weight_of
from evals.judging.tokens import TokenTotals, token_totals
from evals.metrics import Histogram, Rate, histogram_of, rate_of
from evals.policy import CoveragePolicy
from evals.records import Record, Unjudged

SCORED_IMPORTANCE: tuple[Importance, ...] = ("CRITICAL", "IMPORTANT", "MINOR")
"""TRIVIAL is in no share (3.1)."""


class CoverageSummary(Record):
    """Every metric of Component 3 over one run's windows."""

    windows: int
    windows_without_conclusions: int
    """Their gold facts are all MISSING."""
    audited_windows: int
    """Windows whose gold a person has corrected (3.7)."""
    gold_facts: int
    """Facts that passed the harness's filters, of any importance."""
    gold_by_importance: Histogram
    """Those facts; n counts windows."""
    dropped_facts: dict[str, int]
    """Facts that the harness refused, by reason: in no score."""
    relative_time_facts: int
    """Gold facts that carry a relative time expression, counted again in the rows (acceptance 5):
    anything but 0 says that the rows were not made by this harness."""
    relative_time_refused: int
    """Of ``dropped_facts``, those refused for it."""
    coverage_explicit: Share
    """Over facts that the window says in so many words: the deriver's score (3.2)."""
    coverage_implicit: Share
    """Over facts that require an inference: reported, not the deriver's score (3.2)."""
    coverage_by_category: dict[str, Share]
    """Explicit facts by category, exact strings; heaviest first, then by name."""
    coverage_by_importance: dict[str, Share]
    """Explicit facts of CRITICAL, IMPORTANT and MINOR importance."""
    trivial_skipped_rate: Rate
    """TRIVIAL facts MISSING over TRIVIAL facts matched: high is good (the silence principle). Its
    ``unjudged`` counts facts; windows without gold have none, and are
    ``gold_by_importance.unjudged``."""
    questions: int
    dropped_questions: int
    """Questions that the harness refused: in no rate."""
    windows_without_questions: int
    """Windows whose question generation is unjudged: nothing of them is in a QA rate, nor in its
    ``unjudged``, which counts questions."""
    qa_answerable_correct_rate: Rate
    """The three shares of graded questions; those whose answer or comparison is unjudged are left
    out and are ``unjudged``. Windows without questions are in neither: see
    ``windows_without_questions``. Windows whose gold is unjudged count here too: the QA path
    does not rest on gold."""
    qa_answerable_wrong_rate: Rate
    """On-topic and misleading: these conclusions go to the labelling queue (3.4)."""
    qa_unanswerable_rate: Rate
    gold_topics: Histogram
    """Topics of the facts that ``coverage_explicit`` counts: what the deriver should have caught;
    n counts windows. Each window has a vocabulary of its own, so that one subject can stand under
    two names."""
    conclusion_topics: Histogram
    """Topics of the conclusions; as ``gold_topics``."""
    topic_flags: tuple[TopicFlag, ...]
    """Topic skew of each window (3.5), by window id: topics of two windows cannot be compared."""
    coverage_unjudged_share: Rate
    """Windows without coverage, since gold or matching is unjudged, over windows."""
    unjudged_by_reason: dict[str, int]
    """Those windows, by reason."""
    unjudged_by_step: dict[str, dict[str, int]]
    """Every step that gave nothing usable, by reason: windows for gold, matching, topics and
    question_generation, questions for answering (comparison included)."""
    tokens: TokenTotals


def coverage_summary(rows: Sequence[CoverageRow], policy: CoveragePolicy) -> CoverageSummary:
    """Return every metric of the coverage bench; the order of the rows does not matter.

    Facts without a status are in no share and in each share's ``unjudged``; windows without gold
    are its ``unjudged_windows``.

    Args:
        rows: one a window.
        policy: weights and thresholds; changing it needs no new call.
    """
    from evals.coverage.relative_time import relative_expressions  # noqa: PLC0415  60 ms of patterns, only where facts are read

    facts = [fact for row in rows for fact in row.gold or ()]
    dropped = histogram_of([fact.reason for fact in row.dropped] for row in rows).counts
    questions = [question for row in rows for question in row.questions or ()]
    groups = [topic_groups(row, lambda fact: _is_scored(fact, policy)) for row in rows]
    gold_topics = histogram_of(None if group is None else group.gold for group in groups)
    found_topics = histogram_of(None if group is None else group.conclusions for group in groups)
    return CoverageSummary(
        windows=len(rows),
        windows_without_conclusions=sum(not row.conclusion_ids for row in rows),
        audited_windows=sum(row.gold_source == "audited" for row in rows),
        gold_facts=len(facts),
        gold_by_importance=histogram_of(
            None if row.gold is None else [fact.importance for fact in row.gold] for row in rows
        ),
        dropped_facts=dropped,
        relative_time_facts=sum(bool(relative_expressions(fact.fact)) for fact in facts),
        relative_time_refused=sum(
            fact.reason == "relative_time" for row in rows for fact in row.dropped
        ),
        coverage_explicit=_share(rows, policy, lambda fact: not fact.requires_inference),
        coverage_implicit=_share(rows, policy, lambda fact: fact.requires_inference),
        coverage_by_category=_by_category(rows, policy),
        coverage_by_importance={
            importance: _share(rows, policy, _explicit_of(importance))
            for importance in SCORED_IMPORTANCE
        },
        trivial_skipped_rate=rate_of(
            None if fact.status is None else fact.status == "MISSING"
            for fact in facts
            if fact.importance == "TRIVIAL"
        ),
        questions=len(questions),
        dropped_questions=sum(row.dropped_questions for row in rows),
        windows_without_questions=sum(row.questions is None for row in rows),
        qa_answerable_correct_rate=_grade_rate(questions, "ANSWERABLE_CORRECT"),
        qa_answerable_wrong_rate=_grade_rate(questions, "ANSWERABLE_WRONG"),
        qa_unanswerable_rate=_grade_rate(questions, "UNANSWERABLE"),
        gold_topics=gold_topics,
        conclusion_topics=found_topics,
        topic_flags=tuple(
            flag
            for row, group in sorted(
                zip(rows, groups, strict=True), key=lambda pair: pair[0].window_id
            )
            for flag in flags_of_window(row.window_id, group, policy)
        ),
        coverage_unjudged_share=rate_of(row.unjudged is not None for row in rows),
        unjudged_by_reason=_by_reason(row.unjudged for row in rows),
        unjudged_by_step={
            "gold": _by_reason(row.unjudged for row in rows if row.gold is None),
            "matching": _by_reason(row.matching_unjudged for row in rows),
            "topics": _by_reason(row.topics_unjudged for row in rows),
            "question_generation": _by_reason(row.questions_unjudged for row in rows),
            "answering": _by_reason(question.unjudged for question in questions),
        },
        tokens=token_totals(rows),
    )


def _share(
    rows: Iterable[CoverageRow], policy: CoveragePolicy, counts: Callable[[GoldFact], bool]
) -> Share:
    return share_of(
        None
        if row.gold is None
        else [
            (weight_of(fact.importance, policy), credit_of(fact.status, policy))
            for fact in row.gold
            if counts(fact)
        ]
        for row in rows
    )


def _is_scored(fact: GoldFact, policy: CoveragePolicy) -> bool:
    return not fact.requires_inference and weight_of(fact.importance, policy) > 0


def _explicit_of(importance: Importance) -> Callable[[GoldFact], bool]:
    return lambda fact: not fact.requires_inference and fact.importance == importance


def _explicit_in(category: str) -> Callable[[GoldFact], bool]:
    return lambda fact: not fact.requires_inference and fact.category == category


def _by_category(rows: Sequence[CoverageRow], policy: CoveragePolicy) -> dict[str, Share]:
    facts = [fact for row in rows for fact in row.gold or () if _is_scored(fact, policy)]
    shares = {
        category: _share(rows, policy, _explicit_in(category))
        for category in {fact.category for fact in facts}
    }
    return dict(sorted(shares.items(), key=lambda pair: (-pair[1].weight, pair[0])))


def _grade_rate(questions: Iterable[Question], grade: AnswerGrade) -> Rate:
    return rate_of(
        None if question.grade is None else question.grade == grade for question in questions
    )


def _by_reason(unjudged: Iterable[Unjudged | None]) -> dict[str, int]:
    return histogram_of([] if item is None else [item.reason] for item in unjudged).counts

"""The metrics of the coverage bench (3.1 to 3.5): pure functions of its rows and of policy."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from evals.coverage.row import CoverageRow, GoldFact, Question
from evals.coverage.schema import AnswerGrade, Importance
from evals.coverage.share import Share, ShareFold, WeightedFact
from evals.coverage.topic_skew import TopicFlag, flags_of_window, topic_groups
from evals.coverage.weights import credit_of, weight_of
from evals.judging.tokens import TokenFold, TokenTotals
from evals.metrics import Histogram, HistogramFold, Rate, RateFold, Tally
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


def coverage_summary(rows: Iterable[CoverageRow], policy: CoveragePolicy) -> CoverageSummary:
    """Return every metric of the coverage bench; the order of the rows does not matter.

    Facts without a status are in no share and in each share's ``unjudged``; windows without gold
    are its ``unjudged_windows``.

    Args:
        rows: one a window; each is looked at once, and not kept.
        policy: weights and thresholds; changing it needs no new call.
    """
    fold = _Fold(policy)
    for row in rows:
        fold.add(row)
    return fold.result()


class _Fold:
    """A ``CoverageSummary`` in the making, window by window."""

    def __init__(self, policy: CoveragePolicy) -> None:
        self._policy = policy
        self._sums = Counter[str]()
        self._of_windows = Tally(rates=_RATES, histograms=_HISTOGRAMS)
        self._of_questions = Tally(rates=_QUESTION_RATES)
        self._dropped, self._reasons = HistogramFold(), HistogramFold()
        self._trivial_skipped = RateFold()
        self._shares = {name: ShareFold() for name in _SHARES}
        self._by_category: dict[str, ShareFold] = {}
        self._gold_topics, self._found_topics = HistogramFold(), HistogramFold()
        self._flags: list[TopicFlag] = []
        self._by_step = {step: HistogramFold() for step in _STEPS}
        self._tokens = TokenFold()

    def add(self, row: CoverageRow) -> None:
        self._of_windows.add(row)
        self._tokens.add(row)
        self._dropped.add([fact.reason for fact in row.dropped])
        self._add_facts(row.gold)
        self._add_topics(row)
        for question in row.questions or ():
            self._of_questions.add(question)
        self._sums.update(
            windows=1,
            windows_without_conclusions=not row.conclusion_ids,
            audited_windows=row.gold_source == "audited",
            questions=len(row.questions or ()),
            dropped_questions=row.dropped_questions,
            windows_without_questions=row.questions is None,
        )
        self._note(self._reasons, row.unjudged)
        for step, reasons in self._by_step.items():
            for unjudged in _STEPS[step](row):
                self._note(reasons, unjudged)

    def result(self) -> CoverageSummary:
        dropped = self._dropped.result().counts
        categories = [(name, fold.result()) for name, fold in self._by_category.items()]
        return CoverageSummary.model_validate(
            {
                **{name: self._sums[name] for name in _SUMS},
                **self._of_windows.figures(),
                **self._of_questions.figures(),
                "dropped_facts": dropped,
                "relative_time_refused": sum(
                    count for reason, count in dropped.items() if reason == "relative_time"
                ),
                "coverage_explicit": self._shares["explicit"].result(),
                "coverage_implicit": self._shares["implicit"].result(),
                "coverage_by_category": dict(
                    sorted(categories, key=lambda pair: (-pair[1].weight, pair[0]))
                ),
                "coverage_by_importance": {
                    importance: self._shares[importance].result()
                    for importance in SCORED_IMPORTANCE
                },
                "trivial_skipped_rate": self._trivial_skipped.result(),
                "gold_topics": self._gold_topics.result(),
                "conclusion_topics": self._found_topics.result(),
                "topic_flags": tuple(sorted(self._flags, key=lambda flag: flag.window_id)),
                "unjudged_by_reason": self._reasons.result().counts,
                "unjudged_by_step": {
                    step: fold.result().counts for step, fold in self._by_step.items()
                },
                "tokens": self._tokens.result(),
            }
        )

    def _add_facts(self, gold: Sequence[GoldFact] | None) -> None:
        for name, counts in _SHARES.items():
            self._shares[name].add(self._weighted(gold, counts))
        if gold is None:
            for fold in self._by_category.values():
                fold.add(None)
            self._sums["windows_without_gold"] += 1
            return
        from evals.coverage.relative_time import relative_expressions  # noqa: PLC0415  60 ms of patterns, only where facts are read

        self._sums["gold_facts"] += len(gold)
        for category in {fact.category for fact in gold if _is_scored(fact, self._policy)}:
            known = self._by_category.setdefault(
                category, ShareFold(self._sums["windows_without_gold"])
            )
            known.add(self._weighted(gold, _explicit_in(category)))
        for fact in gold:
            self._sums["relative_time_facts"] += bool(relative_expressions(fact.fact))
            if fact.importance == "TRIVIAL":
                self._trivial_skipped.add(None if fact.status is None else fact.status == "MISSING")

    def _add_topics(self, row: CoverageRow) -> None:
        group = topic_groups(row, lambda fact: _is_scored(fact, self._policy))
        self._gold_topics.add(None if group is None else group.gold)
        self._found_topics.add(None if group is None else group.conclusions)
        self._flags += flags_of_window(row.window_id, group, self._policy)

    def _weighted(
        self, gold: Sequence[GoldFact] | None, counts: Callable[[GoldFact], bool]
    ) -> list[WeightedFact] | None:
        if gold is None:
            return None
        return [
            (weight_of(fact.importance, self._policy), credit_of(fact.status, self._policy))
            for fact in gold
            if counts(fact)
        ]

    def _note(self, reasons: HistogramFold, unjudged: Unjudged | None) -> None:
        if unjudged is not None:
            reasons.add([unjudged.reason])


def _is_scored(fact: GoldFact, policy: CoveragePolicy) -> bool:
    return not fact.requires_inference and weight_of(fact.importance, policy) > 0


def _explicit_of(importance: Importance) -> Callable[[GoldFact], bool]:
    return lambda fact: not fact.requires_inference and fact.importance == importance


def _explicit_in(category: str) -> Callable[[GoldFact], bool]:
    return lambda fact: not fact.requires_inference and fact.category == category


def _importances(row: CoverageRow) -> list[str] | None:
    return None if row.gold is None else [fact.importance for fact in row.gold]


def _has_grade(grade: AnswerGrade) -> Callable[[Question], bool | None]:
    return lambda question: None if question.grade is None else question.grade == grade


_SUMS = (
    "windows",
    "windows_without_conclusions",
    "audited_windows",
    "gold_facts",
    "relative_time_facts",
    "questions",
    "dropped_questions",
    "windows_without_questions",
)
# What each metric takes of a window, a fact or a question; None: it is unjudged there.
_RATES: dict[str, Callable[[CoverageRow], bool | None]] = {
    "coverage_unjudged_share": lambda row: row.unjudged is not None,
}
_HISTOGRAMS: dict[str, Callable[[CoverageRow], Sequence[str] | None]] = {
    "gold_by_importance": _importances,
}
_QUESTION_RATES: dict[str, Callable[[Question], bool | None]] = {
    "qa_answerable_correct_rate": _has_grade("ANSWERABLE_CORRECT"),
    "qa_answerable_wrong_rate": _has_grade("ANSWERABLE_WRONG"),
    "qa_unanswerable_rate": _has_grade("UNANSWERABLE"),
}
_SHARES: dict[str, Callable[[GoldFact], bool]] = {
    "explicit": lambda fact: not fact.requires_inference,
    "implicit": lambda fact: fact.requires_inference,
    **{importance: _explicit_of(importance) for importance in SCORED_IMPORTANCE},
}
_STEPS: dict[str, Callable[[CoverageRow], Sequence[Unjudged | None]]] = {
    "gold": lambda row: [row.unjudged] if row.gold is None else [],
    "matching": lambda row: [row.matching_unjudged],
    "topics": lambda row: [row.topics_unjudged],
    "question_generation": lambda row: [row.questions_unjudged],
    "answering": lambda row: [question.unjudged for question in row.questions or ()],
}

"""One line on what a batch or a window came to: no text of the trace in it."""

from evals.coverage.row import CoverageRow, Question
from evals.report import numbers
from evals.set_level.row import SetLevelRow


def batch_line(row: SetLevelRow) -> str:
    """Return ``batch of 6: 1 redundancy group, 0 contradictions``, or why it is unjudged."""
    size = f"batch of {numbers.count(len(row.conclusion_ids))}"
    groups, contradictions = row.redundancy_groups, row.contradictions
    if groups is None or contradictions is None:
        return f"{size}: unjudged ({row.unjudged_reason})"
    return (
        f"{size}: {numbers.counted(len(groups), 'redundancy group')}, "
        f"{numbers.counted(contradictions, 'contradiction')}"
    )


def coverage_line(row: CoverageRow) -> str:
    """Return ``window: 11 of 14 gold facts covered, 3 of 5 questions right``.

    Facts of every importance count, COVERED alone; questions that are unjudged are not in the
    second number and are told apart. What has no verdict says why.
    """
    return f"window: {facts_text(row)}, {questions_text(row)}"


def facts_text(row: CoverageRow) -> str:
    """Return ``11 of 14 gold facts covered``, or why that is not known."""
    if row.gold is None:
        return f"gold unjudged ({row.unjudged_reason})"
    found = numbers.counted(len(row.gold), "gold fact")
    if row.matching_unjudged is not None:
        return f"{found}, matching unjudged ({row.matching_unjudged.reason})"
    covered = sum(fact.status == "COVERED" for fact in row.gold)
    return f"{numbers.count(covered)} of {found} covered"


def questions_text(row: CoverageRow) -> str:
    """Return ``3 of 5 questions right``, or why that is not known."""
    if row.questions is None:
        reason = None if row.questions_unjudged is None else row.questions_unjudged.reason
        return f"questions unjudged ({reason})"
    graded = [question for question in row.questions if question.grade is not None]
    return f"{_right(graded)}{_unjudged(len(row.questions) - len(graded))}"


def _right(graded: list[Question]) -> str:
    right = sum(question.grade == "ANSWERABLE_CORRECT" for question in graded)
    return f"{numbers.count(right)} of {numbers.counted(len(graded), 'question')} right"


def _unjudged(number: int) -> str:
    return f" ({numbers.count(number)} unjudged)" if number else ""

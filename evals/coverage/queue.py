"""The labelling queue (3.4): answers that the conclusions gave, and that are wrong."""

from collections.abc import Iterable, Mapping

from evals.coverage.row import CoverageRow, Question
from evals.errors import RunError
from evals.records import Record, Window


class QueuedConclusion(Record):
    """A conclusion that a wrong answer rests on: on the subject, yet misleading."""

    conclusion_id: str
    peer_id: str
    text: str


class QueueItem(Record):
    """One question of the grade ANSWERABLE_WRONG, for a person to look at; one line of the file."""

    run_id: str
    window_id: str
    question_id: str
    question: str
    gold_answer: str
    source_span: str
    message_id: str
    written_answer: str
    why: str | None
    """Why the comparison found them different."""
    conclusions: tuple[QueuedConclusion, ...]
    """At least one, in the judge's order: those to be labelled."""


def labelling_queue(
    rows: Iterable[CoverageRow], windows: Mapping[str, Window]
) -> tuple[QueueItem, ...]:
    """Return every wrong answer with the conclusions behind it, by window and question.

    Args:
        rows: of one run; their order does not matter. Gone through once; none is kept.
        windows: window id -> window, of every row.

    Raises:
        RunError: a row's window, or a conclusion that it names, is not there.
    """
    found = (
        _item(row, question, windows)
        for row in rows
        for question in row.questions or ()
        if question.grade == "ANSWERABLE_WRONG"
    )
    return tuple(sorted(found, key=lambda item: item.window_id))


def _item(row: CoverageRow, question: Question, windows: Mapping[str, Window]) -> QueueItem:
    assert question.written_answer is not None  # a graded question has been answered
    found = windows.get(row.window_id)
    known = {} if found is None else {item.conclusion_id: item for item in found.conclusions}
    unknown = [name for name in question.conclusion_ids if name not in known]
    if unknown:
        raise RunError(
            f"window {row.window_id}, question {question.question_id}",
            f"conclusion {unknown[0]}, which its window does not have",
            "conclusions of the window that was judged",
            "Restore windows.jsonl, or judge the trace again: stored answers cost no call.",
        )
    return QueueItem(
        run_id=row.provenance.run_id,
        window_id=row.window_id,
        question_id=question.question_id,
        question=question.question,
        gold_answer=question.gold_answer,
        source_span=question.source_span,
        message_id=question.message_id,
        written_answer=question.written_answer,
        why=question.why,
        conclusions=tuple(
            QueuedConclusion(conclusion_id=name, peer_id=known[name].peer_id, text=known[name].text)
            for name in question.conclusion_ids
        ),
    )

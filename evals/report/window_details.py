"""Everything that ``windows.html`` shows of one window, as plain JSON values.

A field that is null in a row, or whose instrument did not run, is absent here, so that the page can
tell "not judged" from "none". Conclusions are listed once and referred to by their number.
"""

from collections.abc import Iterable, Mapping

from evals.coverage.row import CoverageRow, GoldFact, Question
from evals.errors import RunError
from evals.premise.row import ConclusionRow
from evals.records import Unjudged
from evals.report.run_windows import RunWindow
from evals.report.shared_values import (
    SharedTexts,
    deriver_values,
    unjudged_values,
    window_values,
)
from evals.set_level.row import SetLevelRow


class WindowDetails:
    """Makes each window's line; what windows share goes into ``shared``, once."""

    def __init__(self) -> None:
        """Start without any text."""
        self._texts = SharedTexts()

    @property
    def shared(self) -> dict[str, object]:
        """Model ids, prompt hashes and provenance, by number."""
        return self._texts.values

    def of(self, item: RunWindow) -> dict[str, object]:
        """Return everything about a window that the index does not hold.

        Raises:
            RunError: a row names a conclusion that the window does not have.
        """
        conclusions = conclusions_of(item)
        number = {name: position for position, name in enumerate(conclusions)}
        values = window_values(item.window)
        values["conclusions"] = list(conclusions.values())
        if item.coverage is not None:
            values["coverage"] = self._coverage(item, item.coverage, number)
        if item.set_level is not None:
            values["batch"] = self._batch(item, item.set_level, number)
        return values

    def _coverage(
        self, item: RunWindow, row: CoverageRow, number: Mapping[str, int]
    ) -> dict[str, object]:
        values: dict[str, object] = {
            "dropped": [[one.fact, one.source_span, one.reason, one.detail] for one in row.dropped],
            "dropped_questions": row.dropped_questions,
            **self._origin(row),
        }
        if row.gold is not None:
            values["source"] = row.gold_source
            values["facts"] = [
                _fact(fact, item.words.get(fact.gold_id), _numbers(item, fact.covering, number))
                for fact in row.gold
            ]
        if row.questions is not None:
            values["questions"] = [
                _question(question, _numbers(item, question.conclusion_ids, number))
                for question in row.questions
            ]
        return values | _reasons(
            gold_unjudged=row.unjudged if row.gold is None else None,
            matching_unjudged=row.matching_unjudged,
            questions_unjudged=row.questions_unjudged,
            topics_unjudged=row.topics_unjudged,
        )

    def _batch(
        self, item: RunWindow, row: SetLevelRow, number: Mapping[str, int]
    ) -> dict[str, object]:
        values: dict[str, object] = {
            "repeats": [_numbers(item, group, number) for group in row.string_repeats],
            **self._origin(row),
        }
        if row.issues is not None:
            values["issues"] = [
                [one.kind, one.severity, _numbers(item, one.conclusion_ids, number), one.evidence]
                for one in row.issues
            ]
        return values | _reasons(unjudged=row.unjudged)

    def _origin(self, row: CoverageRow | SetLevelRow) -> dict[str, object]:
        return {
            "calls": [self._texts.call(call) for call in row.calls],
            "provenance": self._texts.provenance(row),
            "deriver": deriver_values(row),
        }


def conclusions_of(item: RunWindow) -> dict[str, list[object]]:
    """Return conclusion id -> what is shown of it: of the window, then of rows that it lacks.

    Each is ``[text, peer, outcome, case id, failed conditions, topic]``; outcome and case id are
    None where the premise judge has no row of it, the topic where there is none.
    """
    topics = {} if item.coverage is None else item.coverage.conclusion_topics or {}
    own = {one.conclusion_id: (one.text, one.peer_id) for one in item.window.conclusions}
    judged = {name: (row.text, row.peer_id) for name, row in item.verdicts.items()}
    return {
        name: [text, peer, *_verdict(item.verdicts.get(name)), topics.get(name)]
        for name, (text, peer) in (judged | own).items()
    }


def _verdict(row: ConclusionRow | None) -> list[object]:
    if row is None:
        return [None, None, []]
    failed = () if row.verdict is None else row.verdict.failed_because
    return [row.outcome, row.case_id, list(failed)]


def _fact(fact: GoldFact, word: str | None, covering: list[int]) -> dict[str, object]:
    values: dict[str, object] = {
        "id": fact.gold_id,
        "peer": fact.peer_id,
        "fact": fact.fact,
        "category": fact.category,
        "importance": fact.importance,
        "implicit": fact.requires_inference,
        "span": fact.source_span,
        "message": fact.message_id,
        "inference": fact.licensed_inference,
        "covering": covering,
    }
    known = {"status": fact.status, "why": fact.why, "topic": fact.topic, "word": word}
    return values | {name: value for name, value in known.items() if value is not None}


def _question(question: Question, conclusions: list[int]) -> dict[str, object]:
    values: dict[str, object] = {
        "id": question.question_id,
        "question": question.question,
        "gold": question.gold_answer,
        "span": question.source_span,
        "message": question.message_id,
        "conclusions": conclusions,
    }
    known = {
        "written": question.written_answer,
        "grade": question.grade,
        "by": question.graded_by,
        "why": question.why,
    }
    values |= {name: value for name, value in known.items() if value is not None}
    return values | _reasons(unjudged=question.unjudged)


def _reasons(**unjudged: Unjudged | None) -> dict[str, object]:
    return {name: unjudged_values(one) for name, one in unjudged.items() if one is not None}


def _numbers(item: RunWindow, names: Iterable[str], number: Mapping[str, int]) -> list[int]:
    listed = list(names)
    unknown = [name for name in listed if name not in number]
    if unknown:
        raise RunError(
            f"window {item.window.window_id}",
            f"a row that names conclusion {unknown[0]}, which its window does not have",
            "conclusions of the window that was judged",
            "Restore windows.jsonl, or judge the trace again: stored answers cost no call.",
        )
    return [number[name] for name in listed]

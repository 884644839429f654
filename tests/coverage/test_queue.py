from collections.abc import Callable

import pytest

from evals.coverage.queue import QueueItem, labelling_queue
from evals.errors import RunError
from evals.records import Window
from tests.coverage.rows import coverage_row, question

MakeWindow = Callable[..., Window]


def test_wrong_answers_alone_are_queued_with_the_conclusions_behind_them(
    make_window: MakeWindow,
) -> None:
    window = make_window(conclusions=["vince rows", ("may", "may sold a boat"), "vince sings"])
    ids = [item.conclusion_id for item in window.conclusions]
    row = coverage_row(
        window,
        questions=[
            question("q1", grade="ANSWERABLE_CORRECT", conclusion_ids=(ids[0],)),
            question("q2", conclusion_ids=(ids[2], ids[1])),
            question("q3", grade="UNANSWERABLE", written_answer="UNANSWERABLE"),
            question("q4", grade=None, written_answer=None, graded_by=None),
        ],
    )
    (item,) = labelling_queue([row], {"w1": window})
    assert (item.run_id, item.window_id, item.question_id) == ("run-1", "w1", "q2")
    assert (item.written_answer, item.gold_answer) == ("a doctor", "a dentist")
    assert item.why == "another profession"
    assert [(one.conclusion_id, one.peer_id, one.text) for one in item.conclusions] == [
        (ids[2], "vince", "vince sings"),
        (ids[1], "may", "may sold a boat"),
    ]
    assert QueueItem.model_validate_json(item.model_dump_json()) == item


def test_the_queue_does_not_depend_on_the_order_of_rows(make_window: MakeWindow) -> None:
    windows = {name: make_window(window_id=name) for name in ("w1", "w2")}
    rows = [
        coverage_row(
            window,
            questions=[question(name, conclusion_ids=(window.conclusions[0].conclusion_id,))],
        )
        for name, window in windows.items()
    ]
    queued = labelling_queue(rows, windows)
    assert [item.window_id for item in queued] == ["w1", "w2"]
    assert labelling_queue(rows[::-1], windows) == queued


def test_without_questions_nothing_is_queued(make_window: MakeWindow) -> None:
    window = make_window()
    rows = [coverage_row(window, questions=None), coverage_row(window, None)]
    assert labelling_queue(rows, {"w1": window}) == ()


@pytest.mark.parametrize("known", [True, False])
def test_a_conclusion_that_is_not_there_is_an_error(
    make_window: MakeWindow, *, known: bool
) -> None:
    window = make_window()
    row = coverage_row(window, questions=[question("q7", conclusion_ids=("c9",))])
    with pytest.raises(RunError, match="window w1, question q7: found conclusion c9"):
        labelling_queue([row], {"w1": window} if known else {})

"""Which questions measure nothing: a yes or no, or the window's own words."""

import pytest

from evals.coverage.qa import sourced_questions
from evals.coverage.question_filters import is_yes_or_no, quotes_source
from evals.coverage.schema import QuestionAnswer, QuestionItem
from evals.records import Message


def messages(*texts: str) -> list[Message]:
    return [
        Message(message_id=f"m{number}", peer_id="may", text=text, sent_at=None)
        for number, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        *("yes", "No.", "Ja", "nein!", "sí", "Si", "no", "はい", "いいえ。"),
        *("Yes, to a dentist", "はい、三匹です", "No \u2013 never", '"Yes"'),
    ],
)
def test_yes_and_no_in_four_languages(answer: str) -> None:
    assert is_yes_or_no(answer)


@pytest.mark.parametrize(
    "answer",
    ["No. 5", "no-one", "No Country for Old Men", "Norway", "Jakob", "yesterday's", "はいから", ""],
)
def test_what_only_begins_like_one_is_an_answer(answer: str) -> None:
    assert not is_yes_or_no(answer)


@pytest.mark.parametrize(
    ("question", "span", "text", "quoted"),
    [
        ("Who: \u201cLENT  me 300\u201d?", "lent me 300", "Odile lent me 300 euros", True),
        ("Who said: I sold my boat?", "sold", "I sold my boat", True),
        ("Who said: I sold my boat?", "boat.", "I sold my house and my boat.", True),
        ("Who said \u2018I sold my boat\u2019?", "I sold", "I sold my boat", True),
        ("To whom: see you there?", "Ghent", "see you there", False),
        ("Which team does may support?", "tea", "I drink tea", False),
        ("Who bought the boat?", "to a dentist", "I sold it to a dentist", False),
        ("誰が古い水車を借りたか", "古い水車", "x", True),
        ("誰が家を借りたか", "古い水車", "x", False),
    ],
)
def test_a_question_that_quotes_its_source_is_seen(
    question: str, span: str, text: str, *, quoted: bool
) -> None:
    assert quotes_source(question, span, messages("hello", text)) is quoted


def test_both_are_dropped_and_counted() -> None:
    def item(question: str, answer: str) -> QuestionItem:
        return QuestionItem(question=question, gold_answer=answer, source_span="lent me 300 euros")

    asked = QuestionAnswer(
        questions=(
            item("Who lent may money?", "Odile"),
            item("Who lent me 300 euros?", "Odile"),
            item("Did Odile lend may money?", "Ja, 300 euros"),
        )
    )
    kept, dropped = sourced_questions(asked, messages("Odile lent me 300 euros"))
    assert ([one.question for one in kept], dropped) == (["Who lent may money?"], 2)

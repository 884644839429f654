"""The harness's own comparison: it may miss that two answers agree, and never claims it wrongly."""

import pytest

from evals.coverage.same_answer import gives_away, same_answer, words_of

SAME = [
    ("the bakery", "Bakery."),
    ("An orchid", "orchid"),
    ("half-sister", "half sister"),
    ("O’Brien", "O'Brien"),  # noqa: RUF001  the curly one is the point
    ("  two\n dogs ", "two dogs"),
    ("Ｃａｆé", "cafe\N{COMBINING ACUTE ACCENT}"),
    ("STRASSE", "Straße"),
    ("東京", "東京。"),
    ("5 %", "5%"),
    ("14 March 2026", "2026-03-14"),
    ("March 14th, 2026", "14 March 2026"),
    ("14 Mar. 2026", "2026/3/14"),
    ("the 5th of May 2026", "May 5, 2026"),
    ("2026.03.14", "2026-03-14"),
    ("March 2026", "2026-03"),
    ("14 March 2026 – 16 March 2026", "2026-03-14 - 2026-03-16"),  # noqa: RUF001  a range
]
NOT_SAME = [
    ("Ghent", "Bruges"),
    ("A negative", "negative"),
    ("vitamin A", "vitamin"),
    ("-5", "5"),
    (".5", "5"),
    ("1.5", "15"),
    ("1,200", "1200"),
    ("10-12", "10, 12"),
    ("10 – 12", "10, 12"),  # noqa: RUF001  a range
    ("10:30", "10 30"),
    ("5 %", "5"),
    ("$5", "€5"),
    ("C#", "C"),
    ("C++", "C"),
    ("10²", "102"),
    ("½", "1/2"),
    ("14 March 2026", "2026-03"),
    ("03/04/2026", "2026-03-04"),
    ("30 February 2026", "2026-03-02"),
    ("Ghent", "in Ghent"),
    ("?", "!"),
    ("", ""),
    ("…", "…"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_answer_in_another_form_is_the_same(one: str, other: str) -> None:
    assert same_answer(one, other)
    assert same_answer(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_SAME)
def test_what_could_be_another_answer_is_not_called_the_same(one: str, other: str) -> None:
    assert not same_answer(one, other)
    assert not same_answer(other, one)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("On 3 May 2026, at 10:30!", ("on", "2026-05-03", "at", "10:30")),
        ("31 February 2026", ("31", "2026-02")),
        ("x2026-03-14", ("x2026", "03-14")),
        ("(none)", ("none",)),
        ("…", ()),
    ],
)
def test_words_are_those_that_are_compared(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("question", "answer", "given"),
    [
        ("When did Ilse, who teaches the cello, move?", "the cello", True),
        ("When did Ilse move?", "2025-04-12", False),
        ("What did Ilse do on 12 April 2025?", "2025-04-12", True),
        ("Which cellist teaches?", "cello", False),
        ("What does Ilse play?", "…", False),
    ],
)
def test_an_answer_is_given_away_by_its_words_in_one_run(
    question: str, answer: str, *, given: bool
) -> None:
    assert gives_away(question, answer) is given

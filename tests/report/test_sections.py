# ruff: noqa: RUF001  the en dash and the sign of times are meant
"""The first screen of runs that hold coverage, set-level bench and composite."""

import re
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as ET

from evals.judging.case import Row
from evals.policy import DEFAULT_POLICY
from evals.report.coverage_reading import BOTH_NEEDED, QA_INDEPENDENCE
from evals.report.page import headline_html
from evals.report.sections.composite import LOST_SHOWN
from evals.report.sections.run import tokens_of
from evals.runs.record import RunInfo
from evals.runs.summary import summarize
from tests.report.conftest import call_of, info_of
from tests.report.page_blocks import Reader
from tests.report.window_rows import (
    LATE,
    batch_row,
    coverage_row,
    dropped_of,
    fact_of,
    ids_of,
    issue_of,
    question_of,
    told_rows,
    told_window,
    unjudged_batch,
    unjudged_coverage,
    verdict_rows,
)

MakeInfo = Callable[..., RunInfo]


def words_of(rows: Sequence[Row]) -> str:
    return Reader(headline_html(info_of(), summarize(rows))).words


def test_quality_coverage_and_composite_stand_side_by_side_first() -> None:
    words = words_of(told_rows(told_window()))
    start = words.index("Pass rate")
    assert words[start:].startswith(
        "Pass rate 33.3 % 1/3, 95 % 6.1–79.2 %, 1 unjudged usable without the source, and "
        "licensed by it Coverage, explicit 75.0 % weight 7.5 of 10, 5 facts, 0 unjudged "
        "of what the windows say outright, by importance Quality × coverage "
        "between 60.0 % and 65.0 % 1 fact unknown, 5 facts, 0 unjudged "
        "of the same, by sound conclusions"
    )
    assert words.count("between 60.0 % and 65.0 % 1 fact unknown") == 2  # the section's card, too
    assert start < words.index("Decontextuality")


def test_quality_alone_says_that_coverage_is_not_run_and_why_that_matters() -> None:
    words = words_of(verdict_rows(told_window(), "+"))
    assert "Pass rate 100.0 %" in words
    assert "Coverage, explicit not run The coverage bench is not in this run" in words
    assert "Quality × coverage not run It needs both" in words
    assert BOTH_NEEDED in words
    assert "Set-level bench Not run" in words


def test_coverage_alone_shows_no_composite_that_nobody_judged() -> None:
    window = told_window()
    covered = fact_of("g2", status="COVERED", covering=ids_of(window)[:1])
    words = words_of([coverage_row(window, fact_of(), covered)])
    assert "Pass rate not run The premise judge is not in this run" in words
    assert "Coverage, explicit 50.0 % weight 2 of 4, 2 facts" in words
    assert "Quality × coverage not run" in words
    assert BOTH_NEEDED in words
    assert "Lost facts" not in words
    assert "No conclusion was judged" not in words


def test_the_set_level_bench_alone_shows_its_own_figures() -> None:
    window = told_window()
    words = words_of([batch_row(window, issue_of(*ids_of(window)[:3]))])
    assert "there are no figures but those of the set-level bench" in words
    assert "Redundancy rate 50.0 % 2/4," in words
    assert "Pass rate" not in words


def test_coverage_is_told_with_all_that_it_rests_on() -> None:
    words = words_of(told_rows(told_window()))
    for wanted in (
        "0 relative-time facts in the gold; 1 refused for it.",
        "7 gold facts in 1 window (IMPORTANT 3, MINOR 2, CRITICAL 1, TRIVIAL 1)",
        "Implicit 0.0 % weight 0 of 2, 1 fact, 0 unjudged Facts that need an inference:",
        "reported, not the deriver's score, and not to be hill-climbed.",
        "TRIVIAL skipped 100.0 % 1/1,",
        "The silence principle",
        "2 gold facts refused by the harness and in no score",
        "Unjudged answering by reason: timeout 1.",
    ):
        assert wanted in words


def test_qa_states_its_three_rates_and_its_independence_once() -> None:
    page = headline_html(info_of(), summarize(told_rows(told_window())))
    reader = Reader(page)
    assert reader.words.count(" ".join(QA_INDEPENDENCE.split())) == 1
    assert "ANSWERABLE_WRONG: 33.3 % (1 of 3)" in reader.words
    assert "Right answers: 33.3 % (1/3), 95 % 6.1–79.2 %, 1 unjudged." in reader.words
    assert "4 questions, 2 more refused by the harness" in reader.words


def test_windows_that_no_rate_counts_are_told_beside_the_rates() -> None:
    rows = [*told_rows(told_window()), unjudged_coverage(told_window(window_id="w9"))]
    words = words_of(rows)
    assert "1 window without gold: not in it." in words
    lost = "1 window without questions, question generation unjudged: in no QA rate."
    asked = coverage_row(
        told_window(window_id="w8"), fact_of(), questions=None, questions_unjudged=LATE
    )
    assert lost in words_of([*told_rows(told_window()), asked])
    calm = words_of(told_rows(told_window()))
    assert "in no QA rate" not in calm
    assert "not in it" not in calm


def test_topic_skew_shows_both_distributions_and_its_flags() -> None:
    words = words_of(told_rows(told_window()))
    assert "Topics of the gold facts" in words
    assert "Topics of the conclusions" in words
    assert "Topic 'home' has 3 of 4 conclusions, over 60%, while gold has 3 topics." in words
    assert "1 topic flag in 1 window." in words
    page = headline_html(info_of(), summarize(told_rows(told_window(window_id="a <b>"))))
    assert '<a href="windows.html#a%20%3Cb%3E">a &lt;b&gt;</a>: Topic' in page
    calm = words_of([coverage_row(told_window(), fact_of(topic=None))])
    assert "No topic is flagged." in calm


def test_the_set_level_section_holds_the_string_check_beside_the_judge() -> None:
    words = words_of(told_rows(told_window()))
    assert "Redundancy rate 25.0 % 1/4," in words
    assert "By string check 50.0 % 2/4," in words
    assert "Contradictions 1.00 n 1, 0 unjudged" in words
    assert "1 of 2 (50.0 %) word-by-word repeats (pairs) are in no redundancy group" in words
    assert "2 conclusions: 1 (100.0 %)" in words
    assert "HIGH: 1 (50.0 %); MEDIUM: 1 (50.0 %)" in words


def test_the_composite_counts_kept_lost_and_unknown_and_lists_the_lost() -> None:
    reader = Reader(headline_html(info_of(), summarize(told_rows(told_window()))))
    told = "3 covered facts, implicit and trivial ones included: 1 kept, 1 lost, 1 unknown."
    assert told in reader.words
    assert "1 lost fact: covered, by unsound conclusions alone." in reader.words
    assert "ana lives in Porto IMPORTANT, explicit, window w1" in reader.words
    assert "unsound: unknown_slots" in reader.words
    assert ("href", "windows.html#w1") in reader.attributes


def test_the_implicit_composite_is_no_number_where_a_fact_is_unknown() -> None:
    window = told_window()
    sound, unjudged = ids_of(window)[0], ids_of(window)[3]
    implicit = {"requires_inference": True, "status": "COVERED"}
    known = fact_of("g1", covering=(sound,), **implicit)
    unknown = fact_of("g2", covering=(unjudged,), **implicit)
    verdicts = verdict_rows(window, "+--?")
    words = words_of([*verdicts, coverage_row(window, known, unknown)])
    assert "Implicit – 1 fact, 1 unjudged The same over facts" in words
    words = words_of([*verdicts, coverage_row(window, known)])
    assert "Implicit 100.0 % weight 2 of 2, 1 fact, 0 unjudged The same over facts" in words


def test_lost_facts_beyond_the_first_are_counted() -> None:
    window = told_window()
    facts = [
        fact_of(f"g{number}", status="COVERED", covering=ids_of(window)[:1])
        for number in range(1, LOST_SHOWN + 4)
    ]
    rows = [*verdict_rows(window, "-"), coverage_row(window, *facts)]
    page = headline_html(info_of(), summarize(rows))
    flags = page.count('<li><a href="windows.html#w1">w1</a>: Topic')
    assert page.count('<a href="windows.html#w1">') == LOST_SHOWN + flags
    assert "and 3 more, on the page of windows" in page


def test_the_scatter_leaves_out_and_counts_windows_without_both_figures() -> None:
    seen, silent = told_window(), told_window(window_id="w2")
    rows = [*told_rows(seen), unjudged_coverage(silent), *verdict_rows(silent, "+")]
    page = headline_html(info_of(), summarize(rows))
    assert "1 window; a larger point is several at one place. 1 left out" in page
    svg = next(
        svg for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "w1: coverage" in svg
    )
    assert svg.count("<circle") == 1
    assert "w1: coverage 75.0 %, pass rate 33.3 %" in svg


def test_a_run_where_nothing_was_judged_shows_dashes_and_no_zero() -> None:
    window = told_window()
    rows = [*verdict_rows(window, "?"), unjudged_coverage(window), unjudged_batch(window)]
    words = words_of(rows)
    assert "Pass rate – n 0, 1 unjudged" in words
    assert "Coverage, explicit – 0 facts, 0 unjudged, 1 window without gold" in words
    assert "Quality × coverage – 0 facts" in words
    assert "Redundancy rate – n 0, 4 unjudged" in words
    assert "Unjudged batches by reason: timeout 1." in words
    assert "No window has both a pass rate and a coverage." in words
    assert "No question is graded." in words
    figures = re.findall(r"[^ ]+ %", words[words.index("Coverage Explicit") : words.index("QA QA")])
    assert "0.0 %" not in figures


def test_tokens_are_those_of_all_instruments() -> None:
    rows = told_rows(told_window())
    tokens = tokens_of(summarize(rows))
    assert tokens is not None
    # Four verdicts with a pass 1 each and a pass 2 that all share, a window and a batch.
    assert tokens.calls == 4 + 1 + 1 + 1
    assert tokens.calls_by_purpose["set_level.judge"] == 1
    assert tokens.input_tokens == 7 * 500
    assert "Judge answers 7" in words_of(rows)
    assert tokens_of(summarize([])) is None


def test_tokens_without_usage_are_counted_over_instruments() -> None:
    window = told_window()
    silent = call_of("coverage.gold", "9" * 64, input_tokens=None, output_tokens=None)
    tokens = tokens_of(summarize([coverage_row(window, calls=(silent,)), batch_row(window)]))
    assert tokens is not None
    assert (tokens.calls_without_usage, tokens.calls, tokens.input_tokens) == (1, 2, 500)


def test_provenance_states_the_policy_of_the_coverage_figures(make_info: MakeInfo) -> None:
    policy = DEFAULT_POLICY.model_copy(update={"partial_credit": 0.25, "minor_weight": 1.5})
    page = headline_html(make_info(coverage_policy=policy), summarize([]))
    assert "CRITICAL 4, IMPORTANT 2, MINOR 1.5, TRIVIAL 0; PARTIAL counts 0.25" in page


def test_hostile_text_is_text_in_every_section_and_chart(hostile: str) -> None:
    def page(text: str) -> str:
        window = told_window(text, text + "2", "c", window_id=text)
        moved, lives, _ = ids_of(window)
        fact = fact_of(fact=text, category=text, topic=text, source_span=text, why=text,
                       status="COVERED", covering=(moved,))  # fmt: skip
        coverage = coverage_row(
            window,
            fact,
            questions=(question_of(question=text, written_answer=text, gold_answer=text),),
            dropped=(dropped_of(fact=text, detail=text),),
            conclusion_topics={moved: text, lives: text},
        )
        batch = batch_row(window, issue_of(moved, lives, evidence=text))
        rows = [*verdict_rows(window, "-+"), coverage, batch]
        return headline_html(info_of(), summarize(rows))

    reader, plain = Reader(page(hostile)), Reader(page("harmless"))
    assert sorted(set(reader.tags)) == sorted(set(plain.tags))
    assert len(reader.tags) == len(plain.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    for svg in re.findall(r"<svg.*?</svg>", page(hostile), re.DOTALL):
        ET.fromstring(svg)


def test_chart_ids_are_unique_on_the_page() -> None:
    page = headline_html(info_of(), summarize(told_rows(told_window())))
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 10


def test_links_inside_the_page_lead_to_a_section_that_is_there() -> None:
    for rows in (told_rows(told_window()), verdict_rows(told_window(), "+")):
        page = headline_html(info_of(), summarize(rows))
        targets = re.findall(r'href="#([^"]+)"', page)
        assert targets
        assert all(f'id="{target}"' in page for target in targets)

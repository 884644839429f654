import re
from collections.abc import Callable

import pytest

from evals.premise.row import ConclusionRow
from evals.records import Unjudged
from evals.report.case_values import CaseDetails
from evals.report.links import cases_link
from evals.report.page import headline_html
from evals.report.rows import filter_css
from evals.report.sections.run import SKIPPED_SHOWN, provenance
from evals.runs.bought import TokensBought
from evals.runs.gates import GateResult
from evals.runs.record import RunInfo
from evals.runs.summary import summarize
from evals.traces import ImportReport, SkippedRecord
from tests.report.page_blocks import Reader

MakeRow = Callable[..., ConclusionRow]
MakeInfo = Callable[..., RunInfo]


def test_the_headline_states_every_figure_with_its_basis(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    rows = [
        make_row(),
        make_row(slots=[("TIME", "PRESENT_IN_WINDOW", "x")], decontextuality=0.5),
        make_row(unjudged=Unjudged(reason="timeout", detail="late")),
    ]
    words = Reader(headline_html(make_info(), summarize(rows))).words
    assert "Pass rate 50.0 % 1/2, 95 % 9.5–90.5 %, 1 unjudged" in words  # noqa: RUF001
    assert "Decontextuality 0.70 n 2," in words
    assert "Unjudged 33.3 % 1/3, 95 % 6.1–79.2 % no verdict" in words  # noqa: RUF001
    assert "Unjudged verdict by reason: timeout 1. See them" in words
    assert "By conclusion, 1 failed: PRESENT_IN_WINDOW only 1." in words
    assert "Most of the open slots, 1 of 1 (100.0 %), are PRESENT_IN_WINDOW." in words
    assert "Open 1 unsound conclusion" in words


def test_what_has_no_judgement_is_told_by_reason(make_info: MakeInfo, make_row: MakeRow) -> None:
    late = Unjudged(reason="timeout", detail="late")
    page = headline_html(make_info(), summarize([make_row()]))
    assert "by reason" not in Reader(page).words
    without = make_row(minimality=None, minimality_unjudged=late)
    unsearched = make_row(
        slots=[("TIME", "ABSENT_FROM_WINDOW", "x")],
        attribution_unjudged=Unjudged(reason="refused", detail="no"),
    )
    words = Reader(headline_html(make_info(), summarize([without, unsearched]))).words
    assert "Unjudged minimality by reason: timeout 1." in words
    assert "Unjudged attribution by reason: refused 1." in words
    assert "Unjudged verdict" not in words


def test_the_filters_rules_are_on_the_page_once(make_info: MakeInfo, make_row: MakeRow) -> None:
    assert headline_html(make_info(), summarize([make_row()])).count(filter_css()) == 1


def test_input_quality_is_left_out_where_nothing_is_known_of_it(make_info: MakeInfo) -> None:
    assert "Input quality" not in headline_html(make_info(), summarize([]))


def test_the_headline_needs_no_network_and_runs_no_script(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    page = headline_html(make_info(), summarize([make_row()]))
    reader = Reader(page)
    assert "script" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    links = [value for name, value in reader.attributes if name in {"href", "src"}]
    assert links
    assert all(
        value and value.startswith(("cases.html", "windows.html", "#cq-")) for value in links
    )
    assert not re.search(r"https?://(?!www\.w3\.org/)|url\(|@import", page)


def test_an_uncalibrated_run_is_loud_and_a_calibrated_one_quiet(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    summary = summarize([make_row()])
    loud = headline_html(make_info(calibrated=False, calibration_why="pass_2 has changed"), summary)
    assert "trust no figure below" in Reader(loud).words
    assert "NOT CALIBRATED: pass_2 has changed" in Reader(loud).words
    assert "trust no figure" not in headline_html(make_info(), summary)


def test_an_incomplete_run_says_so_first(make_info: MakeInfo, make_row: MakeRow) -> None:
    page = headline_html(make_info(complete=False, ended_at=None), summarize([make_row()]))
    assert Reader(page).words.index("INCOMPLETE RUN") < Reader(page).words.index("Pass rate")


def test_recorded_mode_is_stated_and_live_mode_raises_no_banner(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    why = "recorded answers: ANTHROPIC_API_KEY is not set"
    recorded = make_info(judge_mode="recorded", judge_mode_why=why)
    assert f"{why}. No call was made" in headline_html(recorded, summarize([make_row()]))
    assert "No call was made" not in headline_html(make_info(), summarize([make_row()]))


def test_gates_are_listed_and_a_short_one_is_a_banner(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    gates = (
        GateResult(gate="pass_rate >= 0.8", metric_value=0.79999, passed=False, why="falls short"),
        GateResult(gate="mean_molecular > 0", metric_value=None, passed=False, why="is null"),
        GateResult(gate="unjudged_share <= 0.1", metric_value=0.0, passed=True, why="as wanted"),
    )
    words = Reader(headline_html(make_info(gates=gates), summarize([make_row()]))).words
    banner = words[words.index("Gate fell short:") :]
    assert banner.startswith(
        "Gate fell short: pass_rate >= 0.8 (falls short); mean_molecular > 0 (is null)"
    )
    assert "pass_rate >= 0.8 0.79999 fell short" in words
    assert "mean_molecular > 0 – fell short" in words  # noqa: RUF001
    assert "unjudged_share <= 0.1 0 passed" in words


def test_provenance_is_complete(make_info: MakeInfo, make_row: MakeRow) -> None:
    info = make_info(
        judge_repeat=3,
        allow_unjudged=0.025,
        skip_bad_records=True,
        gate_expressions=("pass_rate >= 0.8", "unjudged_share <= 0.1"),
        counts_are="exact",
        calls_sent=1200,
        calls_sent_again=0,
        http_attempts=1,
        answers_bought=0,
        calls_taken_up=0,
        tokens_bought=TokensBought(input=0, cache_read=0, cache_write=0, output=0),
    )
    words = Reader(headline_html(info, summarize([make_row()]))).words
    for wanted in (
        "Judge repeat 3",
        "Sent by this run 1,200 calls, 1 HTTP attempt",
        "Unjudged allowed 2.5 %",
        "Bad records left out and counted",
        "Gates pass_rate >= 0.8, unjudged_share <= 0.1",
        "Run 20260604-120000-abcd",
        "Started 2026-06-04 12:00:00 UTC",
        "Duration 3 min 05 s",
        "Judge model judge-1",
        "Reasoning off",
        "Over-inference fails yes",
        "Bench version 0.1.0",
        "Commit 0123456789abcdef with uncommitted changes",
        "Traces traces.jsonl",
        "Items 1 of 1 (100.0 %) selected",
        f"Prompt premise/pass_1 {'c' * 64}",
        "Input tokens 1,000 read in full",
    ):
        assert wanted in words


@pytest.mark.parametrize(
    ("dirty", "text"),
    [(True, "abc with uncommitted changes"), (False, "abc"), (None, "abc")],
)
def test_the_commit_reads_the_same_on_both_pages(
    make_info: MakeInfo, make_row: MakeRow, *, dirty: bool | None, text: str
) -> None:
    shown = dict(provenance(make_info(git_commit="abc", git_dirty=dirty)))["Commit"]
    row = make_row()
    origin = row.provenance.model_copy(update={"git_commit": "abc", "git_dirty": dirty})
    details = CaseDetails({origin.window_id: 0})
    details.of(row.model_copy(update={"provenance": origin}))
    assert shown == text
    assert ["Commit", text] in details.shared["provenance"][0]  # type: ignore[index]


def test_skipped_records_are_listed_and_the_rest_counted(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    skipped = tuple(
        SkippedRecord(where=f"t.jsonl:{line}", kind="bad", why="no time")
        for line in range(SKIPPED_SHOWN + 7)
    )
    report = ImportReport(
        path="t.jsonl", trace_format="honcho", records_read=99, windows=1, conclusions=1,
        skipped=skipped,
    )  # fmt: skip
    words = Reader(headline_html(make_info(imports=(report,)), summarize([make_row()]))).words
    assert "57 skipped records" in words
    assert "t.jsonl:49 bad: no time" in words
    assert "t.jsonl:50" not in words
    assert "and 7 more, in run.json" in words


def test_a_run_without_rows_has_no_figures_and_says_so(make_info: MakeInfo) -> None:
    words = Reader(headline_html(make_info(), summarize([]))).words
    assert "No conclusion was judged in this run" in words
    assert "Pass rate" not in words
    assert "Provenance" in words


def test_a_run_of_unjudged_rows_shows_dashes_and_no_zero_rate(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    rows = [make_row(unjudged=Unjudged(reason="refused", detail="x")) for _ in range(3)]
    words = Reader(headline_html(make_info(), summarize(rows))).words
    assert "Pass rate – n 0, 3 unjudged" in words  # noqa: RUF001
    assert "refused 3" in words


def test_hostile_text_is_text_everywhere(
    make_info: MakeInfo, make_row: MakeRow, hostile: str
) -> None:
    skipped = SkippedRecord(where=hostile, kind=hostile, why=hostile)
    report = ImportReport(
        path=hostile, trace_format=hostile, records_read=1, windows=1, conclusions=1,
        skipped=(skipped,),
    )  # fmt: skip
    info = make_info(
        judge_model=hostile,
        judge_mode="recorded",
        judge_mode_why=hostile,
        models_served=(hostile,),
        calibrated=False,
        calibration_why=hostile,
        trace_paths=(hostile,),
        prompt_hashes={hostile: hostile},
        imports=(report,),
        git_commit=hostile,
        gates=(GateResult(gate=hostile, metric_value=0.1, passed=False, why=hostile),),
    )
    rows = [make_row(hostile, labels=[hostile], unsupported=[(hostile, hostile, hostile)])]
    reader = Reader(headline_html(info, summarize(rows)))
    plain = Reader(headline_html(make_info(), summarize([make_row()])))
    assert not set(reader.tags) & {"script", "img", "b", "iframe"} - set(plain.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    visible = hostile.replace("\r\n", "\n").replace("\r", "\n")
    assert visible in reader.text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("name", ["verdict", "attribution"])
def test_links_into_the_cases_set_one_filter(name: str) -> None:
    assert cases_link(**{name: "A B&<"}) == f"cases.html#?{name}=A+B%26%3C"

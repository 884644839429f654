"""What a pytest user expects of a run: selection, options, signals, exit codes, own outcomes."""

import re
from pathlib import Path

import pytest

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import ROOT, Evaluations, MakeTrace

PREMISE = "evals/premise"
LEAK = """
import dataclasses
from evals.premise import ask

honest = ask.pass_1_request

def leaky(conclusion, settings, prompts):
    request = honest(conclusion, settings, prompts)
    if "tree 3 of window 1" not in conclusion:
        return request
    return dataclasses.replace(request, user=request.user + "\\nBo: well done!")

ask.pass_1_request = leaky
"""


def test_all_instruments_run_on_the_sample_without_a_key_and_say_so(
    evaluations: Evaluations,
) -> None:
    run = evaluations.run("evals/")
    assert run.code == 0, run.output
    assert "recorded answers: ANTHROPIC_API_KEY is not set" in run.output
    assert "calibration: calibrated" in run.output
    summary = run.summary
    premise = summary["premise"]
    assert premise["conclusions"] == premise["pass_rate"]["n"] == 28
    assert premise["mean_minimality"]["n"] == 28
    assert summary["set_level"]["batches"] == summary["coverage"]["windows"] == 5
    assert summary["coverage"]["relative_time_facts"] == 0
    assert summary["coverage"]["questions"] == 25
    assert summary["composite"]["quality_coverage"]["value"] is not None
    for part in ("premise", "set_level", "coverage"):
        assert summary[part]["unjudged_by_reason"] == {}
    assert run.info["models_served"] == ["unknown-claude"]
    assert {row["provenance"]["judge_model_id"] for row in run.rows} == {"unknown-claude"}
    queue = (run.run_dir / "labelling_queue.jsonl").read_text("utf-8").splitlines()
    assert len(queue) == summary["coverage"]["qa_answerable_wrong_rate"]["hits"] == 1
    assert {path.name for path in run.run_dir.iterdir()} == {
        *("run.json", "rows.jsonl", "windows.jsonl", "summary.json", "labelling_queue.jsonl"),
        *("report.html", "cases.html", "windows.html"),
    }
    assert max(len(line) for line in run.output.split("conclusion quality")[1].splitlines()) <= 160


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_leak_stops_the_run_before_anything_more_is_sent(
    workers: list[str],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    evaluations.patch_judge(LEAK)
    messages_api.reset(latency_s=0.05)
    run = evaluations.run(
        PREMISE,
        *("--traces", str(make_trace(20, 5)), "--max-in-flight", "2"),
        *workers,
        api=messages_api,
    )
    assert run.code == 12, run.output
    assert "IsolationError" in run.output
    assert "bo: well done!" in run.output.casefold()
    # Five conclusions of window 0, three of window 1, and the calls under way beside the leak.
    assert messages_api.counts()["posts"] <= 2 * 8 + 2 + 4
    assert len(run.rows) <= 8 + 2
    assert run.info["complete"] is False


def test_one_item_by_its_id(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(2, 2))
    listed = evaluations.run(PREMISE, "--traces", trace, "--collect-only", "-q", api=messages_api)
    ids = [line for line in listed.output.splitlines() if "::" in line]
    assert len(ids) == 4
    assert not listed.run_dir.exists()
    assert messages_api.counts()["posts"] == 0
    run = evaluations.run(ids[2], "--traces", trace, api=messages_api)
    assert [f"::test_conclusion[{row['case_id']}]" in ids[2] for row in run.rows] == [True]


def test_from_inside_the_folder_and_with_pytests_own_trace_flag_before_a_path(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(1, 2))
    run = evaluations.run("premise", "--trace", trace, api=messages_api, cwd=ROOT / "evals")
    assert run.code == 0, run.output
    assert len(run.rows) == 2


def test_recorded_mode_without_answers_stops_before_the_first_test_under_xdist_too(
    evaluations: Evaluations, make_trace: MakeTrace
) -> None:
    run = evaluations.run(PREMISE, "--traces", str(make_trace(2, 3)), "-n", "2")
    assert run.code == 4
    said = " ".join(run.output.split())
    assert "no answer to 8 requests (2 premise.minimality, 6 premise.pass_1)" in said
    assert "of 6 selected cases" in said
    assert "--export-requests DIR" in said
    assert "Traceback" not in run.output
    assert not run.run_dir.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--gate", "pass_rate >= 0"], 0, "pass_rate >= 0"),
        (["--gate", "pass_rate > 1"], 10, "pass_rate > 1"),
        (["--gate", "pass_rat >= 0.5"], 4, "pass_rate"),
        (["--gate", "pass_rate"], 4, "pass_rate"),
        (["--require-calibration"], 11, "Not calibrated"),
        (["--allow-unjudged", "2"], 4, "--allow-unjudged: found 2.0; wanted a number from 0 to 1."),
        (["--run-id", "../x"], 4, "--run-id"),
        (["--trace-format", "honch"], 4, "honcho"),
        (["--traces", "no/such/file.jsonl"], 4, "no/such/file.jsonl"),
        (["--export-requests", "x"], 4, "--export-requests"),
        (["-k", "nothing_like_it"], 5, "2 deselected"),
    ],
)
def test_options_decide_the_exit_code(
    arguments: list[str],
    code: int,
    said: str,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    traces = [] if "--traces" in arguments else ["--traces", str(make_trace(1, 2))]
    run = evaluations.run(PREMISE, *traces, *arguments, api=messages_api)
    assert run.code == code, run.output
    assert said in " ".join(run.output.split())
    if code in {4, 11}:
        assert messages_api.counts()["posts"] == 0
        assert "Traceback" not in run.output
        assert not run.run_dir.exists()


def test_live_without_a_key_is_a_usage_error(evaluations: Evaluations) -> None:
    run = evaluations.run(PREMISE, "--judge", "live")
    assert run.code == 4
    assert "ANTHROPIC_API_KEY" in run.output
    assert "Traceback" not in run.output


def test_x_stops_at_a_hard_failure_and_leaves_the_rest_uncalled(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi, tmp_path: Path
) -> None:
    (tmp_path / "hard_failure.py").write_text(
        "import pytest\n@pytest.hookimpl\ndef pytest_runtest_call(item):\n"
        "    if 'w0001' in item.nodeid: raise RuntimeError('hard failure')\n",
        encoding="utf-8",
    )
    messages_api.reset(latency_s=0.05)
    run = evaluations.run(
        PREMISE,
        *("--traces", str(make_trace(30, 4)), "-x", "-p", "hard_failure", "--max-in-flight", "4"),
        api=messages_api,
    )
    assert run.code == 1, run.output
    assert messages_api.counts()["posts"] < 100


def test_verdicts_are_outcomes_of_their_own_in_every_reporter_and_the_page_can_lie_elsewhere(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi, tmp_path: Path
) -> None:
    junit, page = tmp_path / "junit.xml", tmp_path / "elsewhere" / "page.html"
    run = evaluations.run(
        *(PREMISE, "--traces", str(make_trace(4, 5)), "-v", f"--junitxml={junit}"),
        *(f"--html={page}", "--self-contained-html"),
        api=messages_api,
    )
    assert run.code == 0, run.output
    outcomes = [row["outcome"] for row in run.rows]
    assert set(outcomes) == {"sound", "unsound"}
    assert run.output.count(" SOUND ") == outcomes.count("sound")
    assert run.output.count(" UNSOUND ") == outcomes.count("unsound")
    assert f"{outcomes.count('unsound')} unsound" in run.output.splitlines()[-1]
    xml = junit.read_text(encoding="utf-8")
    assert xml.count('name="outcome" value="unsound"') == outcomes.count("unsound")
    assert 'failures="0"' in xml
    # Its links still lead to the cases.
    text = page.read_text(encoding="utf-8")
    assert "../reports/run-1/cases.html" in text
    assert not re.search(r"(?:&#34;|&quot;|\")cases\.html", text)


def test_hostile_text_stays_text_in_ids_and_pages(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    trace = make_trace(1, 2, peer=hostile, extra=f" {hostile} \x1b[31m ::[x]/../")
    run = evaluations.run(PREMISE, "--traces", str(trace), "-v", api=messages_api)
    assert run.code == 0, run.output
    assert "\x1b[31m ::" not in run.output
    for page in ("report.html", "cases.html"):
        assert "<img src=x" not in (run.run_dir / page).read_text(encoding="utf-8")
    for row in run.rows:
        assert row["text"].count(hostile) == 2
        assert row["case_id"].isascii()
        assert not set(row["case_id"]) & set("<>[]:\"'& ")


def test_a_skipped_item_is_in_no_figure_and_the_run_is_not_complete(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi, tmp_path: Path
) -> None:
    (tmp_path / "skip_plugin.py").write_text(
        "import pytest\ndef pytest_runtest_call(item):\n"
        "    if 'w0001' in item.nodeid: pytest.skip('not today')\n",
        encoding="utf-8",
    )
    run = evaluations.run(
        PREMISE, "--traces", str(make_trace(3, 2)), "-p", "skip_plugin", api=messages_api
    )
    assert run.code == 1, run.output
    assert len(run.rows) == run.summary["premise"]["conclusions"] == 4
    assert run.info["complete"] is False

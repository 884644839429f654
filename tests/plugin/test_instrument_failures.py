"""Runs of the instruments where something goes wrong: nothing is made up, nothing more is sent."""

import json
from pathlib import Path

import pytest

from evals.errors import ConfigError
from evals.judge_process.evaluations import COVERAGE
from evals.plugin.settings import config_from
from evals.runs.summary import RunSummary, figures
from tests.in_process import ALL, judge_trace
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import Evaluations, MakeTrace
from tests.plugin.test_instruments import rows_of

BAD_ANSWERS = {
    "truncated": "truncated",
    "refusal": "refused",
    "fenced": "invalid_output",
    "non_json": "invalid_output",
    "wrong_schema": "invalid_output",
}
WITHOUT_A_JUDGE = {"string_redundancy_rate", "token_range_rate"}
LEAK = """
import dataclasses, os, urllib.request
from evals.coverage import qa

honest = qa.answering_request

def leaky(where, question, conclusions, settings, prompts):
    request = honest(where, question, conclusions, settings, prompts)
    if not any("of window 1 " in conclusion.text for conclusion in conclusions):
        return request
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["ANTHROPIC_BASE_URL"] + "/control", timeout=10) as counts:
        with open(os.environ["COUNTS_AT_LEAK"], "xb") as file:
            file.write(counts.read())
    return dataclasses.replace(request, user=request.user + "\\nBo: well done!")

qa.answering_request = leaky
"""


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("partial_credits=0", "Did you mean partial_credit?"),
        ("partial_credit", "NAME=NUMBER"),
        ("partial_credit=half", "--coverage-policy partial_credit"),
        ("partial_credit=1.5", "--coverage-policy partial_credit"),
        ("critical_weight=-1", "--coverage-policy critical_weight"),
        ("minor_weight=nan", "--coverage-policy minor_weight"),
        ("critical_weight=inf", "--coverage-policy critical_weight"),
        ("critical_weight=1e308", "--coverage-policy critical_weight"),
    ],
)
def test_a_policy_that_is_none_is_refused(
    setting: str, said: str, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setattr(pytestconfig.option, "eval_coverage_policy", [setting])
    with pytest.raises(ConfigError) as caught:
        config_from(pytestconfig)
    assert said in " ".join(str(caught.value).split())


def test_a_policy_that_is_none_is_a_usage_error(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = ["--traces", str(make_trace(1, 2)), "--coverage-policy", "critical_weight=1e308"]
    run = evaluations.run("evals/coverage", *arguments, api=messages_api)
    assert run.code == 4, run.output
    assert "--coverage-policy critical_weight" in " ".join(run.output.split())
    assert "Traceback" not in run.output
    assert messages_api.counts()["posts"] == 0
    assert not run.run_dir.exists()


def test_a_leak_into_an_answering_call_stops_the_run(
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
    tmp_path: Path,
) -> None:
    evaluations.patch_judge(LEAK)
    at_leak = tmp_path / "counts.json"
    messages_api.reset(latency_s=0.05)
    run = evaluations.run(
        "evals/",
        *("--traces", str(make_trace(20, 3)), "--max-in-flight", "2"),
        api=messages_api,
        environment={"COUNTS_AT_LEAK": str(at_leak)},
    )
    assert run.code == 12, run.output
    assert "IsolationError" in run.output
    assert "bo: well done!" in run.output.casefold()
    # Nothing but what was on its way beside the leak: 2 in flight.
    assert messages_api.counts()["max_in_flight"] == 2
    posts = json.loads(at_leak.read_text("utf-8"))["posts"]
    assert 0 < posts <= messages_api.counts()["posts"] <= posts + 2
    assert run.info["complete"] is False
    assert "w0001" not in [row["provenance"]["window_id"] for row in rows_of(run, "coverage")]


@pytest.mark.parametrize(("fault", "reason"), BAD_ANSWERS.items())
def test_answers_that_are_no_judgements_leave_every_figure_null(
    fault: str,
    reason: str,
    tmp_path: Path,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    messages_api.reset(f"{fault}:1.0")
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(2, 3), messages_api, *ALL)
    assert found.lacks_answers
    assert {row["outcome"] for row in found.rows} == {"unjudged"}
    assert {row["unjudged"]["reason"] for row in found.rows} == {reason}
    summary = found.summary
    for name, value in figures(RunSummary.model_validate(summary)).items():
        if name.endswith("unjudged_share"):
            assert value == 1, name
        elif name not in WITHOUT_A_JUDGE:
            assert value is None, name
    set_level, coverage = summary["set_level"], summary["coverage"]
    assert set_level["redundancy_rate"]["unjudged"] == 6
    assert set_level["unjudged_by_reason"] == {reason: 2}
    assert coverage["coverage_explicit"]["unjudged_windows"] == 2
    assert coverage["unjudged_by_step"]["question_generation"] == {reason: 2}
    assert coverage["gold_facts"] == coverage["questions"] == 0
    for row in rows_of(found, "coverage"):
        assert row["gold"] is row["questions"] is row["conclusion_topics"] is None


@pytest.mark.parametrize(("fault", "reason"), BAD_ANSWERS.items())
def test_matching_that_fails_leaves_facts_without_status_and_never_missing(
    fault: str,
    reason: str,
    tmp_path: Path,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    messages_api.reset(f"{fault}@matches:1.0")
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(3, 3), messages_api, *ALL)
    assert found.lacks_answers
    for row in rows_of(found, "coverage"):
        assert row["outcome"] == "unjudged"
        assert row["unjudged"]["reason"] == row["matching_unjudged"]["reason"] == reason
        assert {fact["status"] for fact in row["gold"]} == {None}
    summary = found.summary
    coverage, composite = summary["coverage"], summary["composite"]
    for share in (coverage["coverage_explicit"], composite["quality_coverage"]):
        assert share["value"] is None
        assert share["weight"] == share["n"] == 0
        assert share["unjudged"] > 0
    assert coverage["trivial_skipped_rate"]["value"] is None
    assert coverage["qa_answerable_correct_rate"]["n"] == coverage["questions"] > 0


@pytest.mark.parametrize(("step", "named"), [("answer", "answering"), ("comparisons", "answering")])
def test_answers_that_cannot_be_graded_are_in_no_rate(
    step: str,
    named: str,
    tmp_path: Path,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    messages_api.reset(f"refusal@{step}:1.0")
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(6, 4), messages_api, COVERAGE)
    coverage = found.summary["coverage"]
    ungraded = coverage["unjudged_by_step"][named]["refused"]
    assert 0 < ungraded <= coverage["questions"]
    rates = [
        coverage[f"qa_{grade}_rate"]
        for grade in ("answerable_correct", "answerable_wrong", "unanswerable")
    ]
    assert {rate["unjudged"] for rate in rates} == {ungraded}
    assert sum(rate["hits"] for rate in rates) == coverage["questions"] - ungraded
    if step == "answer":
        assert {rate["value"] for rate in rates} == {None}
    else:
        assert rates[1]["hits"] == 0  # the harness by itself never calls an answer wrong
    assert coverage["coverage_explicit"]["value"] is not None


def test_recorded_mode_says_how_many_answers_each_instrument_lacks(
    evaluations: Evaluations, make_trace: MakeTrace
) -> None:
    run = evaluations.run("evals/", "--traces", str(make_trace(2, 3)))
    assert run.code == 4
    said = " ".join(run.output.split())
    assert "no answer to 14 requests" in said
    assert (
        "(2 coverage.gold, 2 coverage.question_generation, 2 premise.minimality,"
        " 6 premise.pass_1, 2 set_level.judge)" in said
    )
    assert "of 10 selected cases" in said
    assert "--export-requests DIR" in said
    assert "Traceback" not in run.output
    assert not run.run_dir.exists()


@pytest.mark.parametrize("key", ["answer", "items"])
def test_a_figure_that_lacks_answers_lacks_them_in_the_run(
    key: str, tmp_path: Path, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset(f"refusal@{key}:1.0")
    trace = make_trace(1, 3)
    assert judge_trace(tmp_path / "answers.sqlite", trace, messages_api, *ALL).lacks_answers


def test_a_figure_that_lacks_answers_is_not_a_clean_run(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset("refusal@topics:1.0")
    trace = str(make_trace(1, 3))
    run = evaluations.run("evals/", "--traces", trace, api=messages_api)
    assert run.code == 1, run.output
    allowed = evaluations.run(
        "evals/", "--traces", trace, "--allow-unjudged", "1", api=messages_api
    )
    assert allowed.code == 0, allowed.output

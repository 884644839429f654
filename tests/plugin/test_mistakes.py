"""Mistakes and mishaps: one clear message, nothing sent, nothing left behind, nothing lost."""

import pytest

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import Evaluations, MakeTrace

PREMISE = "evals/premise"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reports-dir", "/dev/null/reports"], "--reports-dir"),
        (["--html", "/dev/null/page.html"], "--html: found"),
        (["--recordings", "/nonexistent"], "--recordings"),
        (["--store", "/dev/null/store.sqlite"], "/dev/null/store.sqlite"),
        (["--rootdir", "/"], "--rootdir"),
        (["-p", "no:metadata"], "-p no:metadata: found pytest-html"),
    ],
)
def test_a_place_that_cannot_be_used_is_a_usage_error(
    arguments: list[str],
    said: str,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    run = evaluations.run(PREMISE, "--traces", str(make_trace(1, 1)), *arguments, api=messages_api)
    assert run.code == 4, run.output
    assert said in run.output
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    assert messages_api.counts()["posts"] == 0


def test_an_address_with_a_password_is_refused_at_once(evaluations: Evaluations) -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": "http://me:secret@127.0.0.1"}
    run = evaluations.run(PREMISE, environment=environment)
    assert run.code == 4, run.output
    assert "ANTHROPIC_BASE_URL" in run.output
    assert "secret" not in run.output


def test_a_blank_key_is_no_key(evaluations: Evaluations) -> None:
    run = evaluations.run(PREMISE, environment={"ANTHROPIC_API_KEY": " "})
    assert "recorded answers: ANTHROPIC_API_KEY is not set" in run.output


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--setup-only"], 0), (["-k", "nothing_like_it"], 5)]
)
def test_what_judges_nothing_sends_nothing_and_leaves_nothing(
    arguments: list[str],
    code: int,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    run = evaluations.run(PREMISE, "--traces", str(make_trace(1, 2)), *arguments, api=messages_api)
    assert run.code == code, run.output
    assert messages_api.counts()["posts"] == 0
    assert not run.run_dir.exists()


def test_a_trace_without_conclusions_has_nothing_to_judge(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    run = evaluations.run(PREMISE, "--traces", str(make_trace(2, 0)), api=messages_api)
    assert run.code == 5, run.output
    assert "found nothing to judge" in run.output
    assert "Traceback" not in run.output
    assert not run.run_dir.exists()


def test_why_a_key_is_refused_stands_on_the_terminal(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset("http_401:1.0")
    run = evaluations.run(PREMISE, "--traces", str(make_trace(1, 3)), api=messages_api)
    said = " ".join(run.output.split())
    assert "first exhausted" in said
    assert "HTTP 401" in said
    assert "Check ANTHROPIC_API_KEY" in said


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_wrong_model_is_one_message_and_the_end(
    workers: list[str], evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset("other_model:1.0")
    run = evaluations.run(PREMISE, "--traces", str(make_trace(5, 4)), *workers, api=messages_api)
    assert run.code == 1, run.output
    assert "WrongModelError" in run.output
    assert "Traceback" not in run.output
    assert run.output.count("ERROR at setup") <= 2
    assert run.info["complete"] is False


RECORD_IS_REMOVED = """
from pathlib import Path

def pytest_runtest_teardown(item):
    for path in Path(item.config.option.eval_reports_dir).glob("*/rows.jsonl"):
        path.unlink()
"""


def test_a_record_that_is_removed_under_the_run_is_one_message_and_no_page(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    (evaluations.folder / "removes.py").write_text(RECORD_IS_REMOVED, encoding="utf-8")
    arguments = (PREMISE, "--traces", str(make_trace(1, 3)), "-p", "removes")
    run = evaluations.run(*arguments, api=messages_api)
    assert run.code == 1, run.output
    assert run.output.count("RunError: ") == 1
    assert "wanted a file of the run record" in " ".join(run.output.split())
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    assert not (run.run_dir / "report.html").exists()
    assert run.info["complete"] is False

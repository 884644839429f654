"""Whole runs of all three instruments: rows, figures, calls, gates and policy."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evals.coverage.calls import CALLS_A_WINDOW, MAX_QUESTIONS
from evals.coverage.prompts import load_coverage_prompts
from evals.judge_process.evaluations import COVERAGE, SET_LEVEL
from evals.premise.render import load_premise_prompts
from evals.records import Provenance
from evals.runs.load import load_run
from evals.runs.summary import RunSummary, figures
from evals.set_level.render import load_set_level_prompts
from tests.in_process import JudgedTrace, judge_trace
from tests.messages_api.fixtures import MessagesApi
from tests.messages_api.messages import message_to
from tests.plugin.runs import ROOT, Evaluations, Finished, MakeTrace, write_trace

PURPOSES = {
    "reconstruction": "premise.pass_1",
    "interpretation": "premise.pass_2",
    "items": "premise.minimality",
    "set_issues": "set_level.judge",
    "facts": "coverage.gold",
    "matches": "coverage.matching",
    "questions": "coverage.question_generation",
    "answer": "coverage.answering",
    "comparisons": "coverage.comparison",
    "topics": "coverage.topics",
}
"""The server's name of a prompt -> the rows' name of it."""
PROMPT_HASHES = {
    "premise": load_premise_prompts().hashes(),
    "set_level": load_set_level_prompts().hashes(),
    "coverage": load_coverage_prompts().hashes(),
}


def asked(counts: dict[str, Any]) -> dict[str, int]:
    """Return what the server was asked for since its last reset, by purpose."""
    return {PURPOSES[key]: count for key, count in counts["asked"].items()}


def calls_of(run: Finished) -> dict[str, int]:
    """Return the distinct requests behind the rows, by purpose."""
    hashes = {(call["purpose"], call["request_hash"]) for row in run.rows for call in row["calls"]}
    return dict(Counter(purpose for purpose, _ in hashes))


def rows_of(run: Finished | JudgedTrace, instrument: str) -> list[dict[str, Any]]:
    return [row for row in run.rows if row["instrument"] == instrument]


def content_of(run: Finished) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows without what differs between two runs: their ids and where answers lay."""
    found = {}
    for row in run.rows:
        calls = [call | {"source": "", "attempts": 0} for call in row["calls"]]
        provenance = row["provenance"] | {"run_id": ""}
        key = row["instrument"], row["case_id"]
        found[key] = row | {"calls": calls, "provenance": provenance}
    return found


@dataclass(frozen=True)
class Whole:
    """``pytest evals/`` over a trace, and what is left of it."""

    trace: str
    evaluations: Evaluations
    """With the run's store."""
    run: Finished
    counts: dict[str, Any]
    """The server's."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, messages_api_process: MessagesApi) -> Whole:
    """Six windows of four conclusions."""
    folder = tmp_path_factory.mktemp("whole")
    trace = str(write_trace(folder / "trace.jsonl", 6, 4))
    evaluations = Evaluations(folder)
    messages_api_process.reset()
    run = evaluations.run("evals/", "--traces", trace, api=messages_api_process)
    assert run.code == 0, run.output
    return Whole(trace, evaluations, run, messages_api_process.counts())


@pytest.fixture(scope="module")
def everything(whole: Whole) -> Finished:
    return whole.run


def test_one_run_of_all_instruments_gives_every_row_and_figure(everything: Finished) -> None:
    outcomes = Counter((row["instrument"], row["kind"], row["outcome"]) for row in everything.rows)
    assert outcomes["set_level", "batch", "scored"] == 6
    assert outcomes["coverage", "window", "scored"] == 6
    assert sum(count for key, count in outcomes.items() if key[0] == "premise") == 24
    assert sum(outcomes.values()) == 36
    assert everything.info["complete"] is True
    assert "12 scored" in everything.output.splitlines()[-1]
    assert everything.info["collected"] == everything.info["selected"] == 36
    summary = everything.summary
    assert summary["premise"]["pass_rate"]["n"] == 24
    assert summary["set_level"]["redundancy_rate"]["n"] == 24
    coverage, composite = summary["coverage"], summary["composite"]
    assert coverage["windows"] == len(composite["points"]) == 6
    assert coverage["relative_time_facts"] == 0
    for share in (coverage["coverage_explicit"], coverage["coverage_implicit"]):
        assert 0 < share["value"] < 1
        assert share["n"] > 0
    assert coverage["qa_answerable_correct_rate"]["n"] == coverage["questions"] > 0
    assert coverage["gold_facts"] == 4 * 6
    assert composite["quality_coverage"]["value"] < coverage["coverage_explicit"]["value"]
    assert composite["facts_unknown"] == 0
    # Read back strictly, with the figures made anew of the rows.
    assert load_run(everything.run_dir).summary == RunSummary.model_validate(summary)


def test_every_row_says_how_it_was_made(everything: Finished) -> None:
    known = {
        "run_id": "run-1",
        "judge_repeat": 0,
        "reasoning_enabled": False,
        "dataset_shape": "production",
        "window_message_ids": ["m1", "m2"],
        "message_timestamps": ["2026-06-04T12:00:00Z", "2026-06-04T12:01:00Z"],
        "window_reconstructed": False,
        "peer_id": "ana",
        "deriver_model_id": "small-1",
        "derived_at": "2026-06-04T12:02:00Z",
    }
    windows = load_run(everything.run_dir).windows
    for row in everything.rows:
        provenance = row["provenance"]
        assert set(provenance) == set(Provenance.model_fields)
        assert [name for name, value in provenance.items() if value is None] == []
        assert {name: provenance[name] for name in known} == known
        assert provenance["judge_prompt_hashes"] == PROMPT_HASHES[row["instrument"]]
        assert provenance["judge_model_id"] == everything.info["judge_model"]
        window = windows[provenance["window_id"]]
        assert provenance["window_text_hash"] == window.window_text_hash
        assert provenance["deriver_prompt_hash"] == window.conclusions[0].deriver_prompt_hash
        prompts = {call["prompt_hash"] for call in row["calls"]}
        assert prompts <= set(PROMPT_HASHES[row["instrument"]].values())


def test_calls_are_as_few_as_stated_by_the_rows_and_by_the_server(whole: Whole) -> None:
    everything = whole.run
    assert whole.counts["posts"] == len(whole.counts["answered"])
    assert asked(whole.counts) == calls_of(everything)
    for row in rows_of(everything, "set_level"):
        assert [call["purpose"] for call in row["calls"]] == ["set_level.judge"]
    totals: dict[str, list[int]] = defaultdict(list)
    for row in rows_of(everything, "coverage"):
        purposes = Counter(call["purpose"] for call in row["calls"])
        assert set(purposes) <= set(CALLS_A_WINDOW)
        for purpose, (least, most) in CALLS_A_WINDOW.items():
            assert least <= purposes[purpose] <= most
            totals[purpose].append(purposes[purpose])
        assert purposes["coverage.answering"] == len(row["questions"])
        assert purposes.total() <= 5 + MAX_QUESTIONS
    assert min(totals["coverage.gold"]) == 1
    assert set(totals["coverage.comparison"]) == {0, 1}  # the harness settles some by itself


def test_wrong_answers_and_no_others_are_in_the_labelling_queue(everything: Finished) -> None:
    text = (everything.run_dir / "labelling_queue.jsonl").read_text(encoding="utf-8")
    queue = [json.loads(line) for line in text.splitlines()]
    texts = {
        item.conclusion_id: item.text
        for window in load_run(everything.run_dir).windows.values()
        for item in window.conclusions
    }
    found = {(item["window_id"], item["question_id"]): item["conclusions"] for item in queue}
    wanted = {
        (row["window_id"], question["question_id"]): [
            {"conclusion_id": name, "peer_id": "ana", "text": texts[name]}
            for name in question["conclusion_ids"]
        ]
        for row in rows_of(everything, "coverage")
        for question in row["questions"]
        if question["grade"] == "ANSWERABLE_WRONG"
    }
    assert found == wanted
    wrong = everything.summary["coverage"]["qa_answerable_wrong_rate"]["hits"]
    assert len(queue) == len(wanted) == wrong > 0
    assert {item["run_id"] for item in queue} == {"run-1"}


def test_a_batch_of_one_costs_no_call(
    tmp_path: Path, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(3, 1), messages_api, SET_LEVEL)
    assert messages_api.counts()["posts"] == 0
    assert [(row["outcome"], row["issues"], row["calls"]) for row in found.rows] == [
        ("scored", [], [])
    ] * 3
    assert found.summary["set_level"]["redundancy_rate"]["n"] == 3


def test_a_window_without_conclusions_has_missed_everything(
    tmp_path: Path, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(3, 0), messages_api, COVERAGE)
    assert not found.lacks_answers
    assert asked(messages_api.counts()) == {
        "coverage.gold": 3,
        "coverage.question_generation": 3,
        "coverage.topics": 3,
    }
    coverage = found.summary["coverage"]
    assert coverage["coverage_explicit"]["value"] == 0
    assert coverage["windows_without_conclusions"] == 3
    assert coverage["qa_unanswerable_rate"]["value"] == 1


def test_the_set_level_bench_runs_alone(
    tmp_path: Path, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(4, 5), messages_api, SET_LEVEL)
    assert not found.lacks_answers
    assert asked(messages_api.counts()) == {"set_level.judge": 4}
    assert len(rows_of(found, "set_level")) == len(found.rows) == 4
    summary = found.summary
    assert {name for name, part in summary.items() if part is not None} == {"set_level"}
    groups = summary["set_level"]["redundancy_groups_by_size"]
    assert groups["n"] == 4
    assert groups["counts"]


def test_the_coverage_bench_runs_alone_and_its_quality_is_unknown(
    tmp_path: Path, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(4, 5), messages_api, COVERAGE)
    assert not found.lacks_answers
    purposes = asked(messages_api.counts())
    assert {purpose.partition(".")[0] for purpose in purposes} == {"coverage"}
    assert len(rows_of(found, "coverage")) == len(found.rows) == 4
    given = {name for name, part in found.summary.items() if part is not None}
    # No premise rows, so no composite: a share of what nobody judged would be a wrong number.
    assert given == {"coverage"}


def test_a_second_run_asks_for_nothing_and_a_part_is_taken_up(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = ["--traces", str(make_trace(4, 3))]
    part = evaluations.run("evals/", *arguments, "-k", "w0001 or w0002", api=messages_api)
    assert part.code == 0, part.output
    assert (part.info["selected"], part.info["collected"]) == (2 * 5, 4 * 5)
    kept = asked(messages_api.counts())
    assert kept["coverage.gold"] == kept["set_level.judge"] == 2
    assert kept["premise.minimality"] == 2
    assert kept["premise.pass_1"] == kept["premise.pass_2"] == 6
    messages_api.reset()
    whole = evaluations.run("evals/", *arguments, api=messages_api)
    rest = asked(messages_api.counts())
    assert rest["coverage.gold"] == rest["set_level.judge"] == 2
    messages_api.reset()
    again = evaluations.run("evals/", *arguments, api=messages_api)
    assert messages_api.counts()["posts"] == 0
    assert again.info["calls_sent"] == 0
    assert content_of(again) == content_of(whole)
    sources = {call["source"] for row in again.rows for call in row["calls"]}
    assert sources == {"store"}
    values = [figures(RunSummary.model_validate(run.summary)) for run in (whole, again)]
    assert values[0] == values[1]


def test_gates_hold_the_new_figures(whole: Whole, messages_api: MessagesApi) -> None:
    metrics = ("coverage_explicit", "quality_coverage", "redundancy_rate")
    gates = [f"--gate={metric} {limit}" for limit in (">= 0", "> 1") for metric in metrics]
    run = whole.evaluations.run("evals/", "--traces", whole.trace, *gates, api=messages_api)
    assert run.code == 10, run.output
    assert [gate["passed"] for gate in run.info["gates"]] == [True] * 3 + [False] * 3
    assert all(gate["metric_value"] is not None for gate in run.info["gates"])


@pytest.mark.parametrize(
    ("path", "metric", "lacking"),
    [
        ("evals/set_level", "coverage_explicit", "no coverage rows"),
        ("evals/coverage", "redundancy_rate", "no set_level rows"),
    ],
)
def test_a_gate_on_an_instrument_that_was_not_run_is_not_met(
    path: str,
    metric: str,
    lacking: str,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    traces = ["--traces", str(make_trace(1, 2))]
    run = evaluations.run(path, *traces, "--gate", f"{metric} >= 0", api=messages_api)
    assert run.code == 10, run.output
    assert lacking in run.info["gates"][0]["why"]
    assert {f"evals/{row['instrument']}" for row in run.rows} == {path}


def test_policy_changes_figures_and_makes_no_call(
    whole: Whole, everything: Finished, messages_api: MessagesApi
) -> None:
    run = whole.evaluations.run(
        "evals/",
        *("--traces", whole.trace, "--coverage-policy", "partial_credit=0"),
        api=messages_api,
    )
    assert run.code == 0, run.output
    assert messages_api.counts()["posts"] == 0
    assert run.info["coverage_policy"]["partial_credit"] == 0
    before = everything.summary["coverage"]["coverage_explicit"]
    after = run.summary["coverage"]["coverage_explicit"]
    assert after["weight"] == before["weight"]
    assert after["earned"] < before["earned"]
    assert content_of(run) == content_of(everything)


def test_requests_of_all_instruments_are_answered_in_three_rounds(
    evaluations: Evaluations, make_trace: MakeTrace, tmp_path: Path
) -> None:
    arguments = ["evals/", "--traces", str(make_trace(3, 2)), "--judge-model", "other-model"]
    sizes: list[int] = []
    while True:
        folder = tmp_path / f"round-{len(sizes)}"
        run = evaluations.run(*arguments, "--export-requests", str(folder))
        assert run.code == 0, run.output
        if not folder.exists():
            break
        assert not run.run_dir.exists()
        sizes.append(answer_round(folder))
        command = [sys.executable, "-m", "evals.judging", "import", "--requests", str(folder)]
        command += ["--results", str(folder / "results.jsonl"), "--into", str(evaluations.store)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    # What needs no answer; pass 2, matching, topics and answering; comparison.
    assert len(sizes) == 3
    assert sizes[0] == 6 + 3 + 3 + 3 + 3
    assert sum(sizes) == sum(calls_of(run).values())
    assert {row["outcome"] for row in run.rows} <= {"sound", "unsound", "scored"}
    assert run.info["calls_sent"] == 0
    sources = Counter(call["source"] for row in run.rows for call in row["calls"])
    assert set(sources) == {"store"}


def answer_round(folder: Path) -> int:
    """Answer an exported round as a Message Batch does; return the number of requests."""
    lines = (folder / "requests.jsonl").read_text("utf-8").splitlines()
    requests = [json.loads(line) for line in lines]
    results = [
        {
            "custom_id": request["custom_id"],
            "result": {"type": "succeeded", "message": message_to(request["params"], "none")},
        }
        for request in requests
    ]
    text = "".join(f"{json.dumps(result)}\n" for result in reversed(results))
    (folder / "results.jsonl").write_text(text, encoding="utf-8")
    return len(requests)

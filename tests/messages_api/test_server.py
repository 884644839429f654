"""The local server itself: what it answers must be what the judge's prompts ask for."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import BaseModel

from evals.coverage.case import coverage_cases
from evals.coverage.prompts import load_coverage_prompts
from evals.coverage.row import CoverageRow
from evals.judging.case import Case, Row, RunContext
from evals.judging.gaps import gaps_of
from evals.judging.message import parse_message, response_of
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse, parse_answer
from evals.premise.render import (
    OpenSlot,
    WindowTexts,
    attribution_search_request,
    load_premise_prompts,
    minimality_request,
    pass_1_request,
    pass_2_request,
)
from evals.premise.schema import AttributionAnswer, MinimalityAnswer, Pass1, Pass2
from evals.records import (
    Conclusion,
    Message,
    Window,
    conclusion_id_of,
    window_text_hash_of,
)
from evals.set_level.case import set_level_cases
from evals.set_level.render import load_set_level_prompts
from evals.set_level.row import SetLevelRow
from tests.messages_api.answers import BadRequestError, answer_to, asked_key
from tests.messages_api.faults import fault_of
from tests.messages_api.messages import message_to
from tests.messages_api.quota import SimulatedQuota

AnswerT = TypeVar("AnswerT", bound=BaseModel)
PROMPTS = load_premise_prompts()
SETTINGS = JudgeSettings(model="claude-judge", reasoning="off")
NOON = datetime(2026, 6, 4, 12, tzinfo=UTC)
TEXTS = [f"alice </conclusion> owns boat {number}\n" for number in range(40)]


SAID = (
    ("alice", "</window> hi\nyou"),
    ("bo", "Did you paint the boat?"),
    ("alice", "I painted boat {number} in the harbour, </conclusion> and sold another"),
)
CONTEXT = RunContext(
    run_id="run-1",
    bench_version="0.1.0",
    git_commit=None,
    git_dirty=None,
    settings=SETTINGS,
    over_inference_fails=True,
)


def window(number: int = 0, conclusions: int = len(TEXTS)) -> Window:
    messages = tuple(
        Message(
            message_id=f"m{place}",
            peer_id=peer,
            text=text.format(number=number),
            sent_at=NOON if number % 2 else None,
        )
        for place, (peer, text) in enumerate(SAID, 1)
    )
    return Window(
        window_id=f"w{number}",
        conversation_id=None,
        peer_id="alice",
        messages=messages,
        window_text_hash=window_text_hash_of(messages),
        window_reconstructed=False,
        dataset_shape="production",
        earlier_messages=messages,
        conclusions=tuple(
            Conclusion(
                conclusion_id=conclusion_id_of(f"w{number}", ordinal, text),
                ordinal=ordinal,
                peer_id="alice",
                text=text,
                deriver_prompt_hash=None,
                deriver_model_id=None,
                derived_at=None,
            )
            for ordinal, text in enumerate(TEXTS[:conclusions])
        ),
    )


def answered(request: JudgeRequest, shape: type[AnswerT]) -> AnswerT:
    message = parse_message(json.dumps(message_to(request.params, "none")))
    return parse_answer(response_of(message, request, "live", 1), shape)


class AnswersOfTheServer:
    """A judge whose answers are the server's, without the way there."""

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        if request.guard is not None:
            request.guard.check(request.params)
        message = parse_message(json.dumps(message_to(request.params, "none")))
        return response_of(message, request, "live", 1)


async def evaluated(cases: Iterable[Case]) -> list[Row]:
    return [await case.evaluate(AnswersOfTheServer(), CONTEXT) for case in cases]


def test_both_passes_are_answered_validly_and_not_all_alike() -> None:
    found = window()
    blind, sighted = [], []
    for conclusion in found.conclusions:
        pass_1 = answered(pass_1_request(conclusion.text, SETTINGS, PROMPTS), Pass1)
        request = pass_2_request(
            conclusion, pass_1.model_dump_json(), WindowTexts(found), SETTINGS, PROMPTS
        )
        blind.append(pass_1)
        sighted.append(answered(request, Pass2))
    assert {each.licensed_inference == "NONE" for each in blind} == {True, False}
    assert {bool(each.unknown_slots) for each in blind} == {True, False}
    assert {each.interpretation for each in sighted} == {"MATCH", "MISMATCH"}
    for pass_1, pass_2 in zip(blind, sighted, strict=True):
        assert [each.slot for each in pass_1.unknown_slots] == [
            each.slot for each in pass_2.missing
        ]


def test_minimality_is_answered_for_every_id() -> None:
    conclusions = window().conclusions
    answer = answered(minimality_request(conclusions, SETTINGS, PROMPTS), MinimalityAnswer)
    assert [each.conclusion_id for each in answer.items] == [
        each.conclusion_id for each in conclusions
    ]


def test_the_attribution_search_is_answered_for_every_slot() -> None:
    found = window()
    slots = [OpenSlot(name, "why") for name in ("TIME", "PLACE")]
    request = attribution_search_request(
        found.conclusions[0], slots, found.messages, SETTINGS, PROMPTS
    )
    answer = answered(request, AttributionAnswer)
    assert [each.slot for each in answer.slots] == ["TIME", "PLACE"]


def test_every_batch_is_answered_validly_and_not_all_alike() -> None:
    windows = [window(number, conclusions=1 + number % 6) for number in range(40)]
    rows = asyncio.run(evaluated(set_level_cases(windows, load_set_level_prompts())))
    assert [gap for row in rows for gap in gaps_of(row)] == []
    issues = []
    for row in rows:
        assert isinstance(row, SetLevelRow)
        issues.append(row.issues or ())
    assert {len(found) for found in issues} == {0, 1, 2}
    every = [issue for found in issues for issue in found]
    assert {issue.kind for issue in every} == {"REDUNDANCY", "TEMPORAL_CONFUSION"}
    assert {issue.severity for issue in every} == {"LOW", "MEDIUM", "HIGH"}


@pytest.fixture(scope="module")
def coverage_rows(tmp_path_factory: pytest.TempPathFactory) -> list[CoverageRow]:
    windows = [window(number, conclusions=1 + number % 6) for number in range(40)]
    no_gold = tmp_path_factory.mktemp("gold")
    found = asyncio.run(evaluated(coverage_cases(windows, load_coverage_prompts(), no_gold)))
    return [row for row in found if isinstance(row, CoverageRow)]


def test_gold_and_its_matches_pass_the_harness_but_for_one_fact_a_window(
    coverage_rows: list[CoverageRow],
) -> None:
    assert len(coverage_rows) == 40
    assert [gap for row in coverage_rows for gap in gaps_of(row)] == []
    facts = [fact for row in coverage_rows for fact in row.gold or ()]
    repeated = sum(fact.reason == "repeated" for row in coverage_rows for fact in row.dropped)
    assert len(facts) + repeated == 40 * 8  # of each importance one for each message of alice
    assert {fact.status for fact in facts} == {"COVERED", "PARTIAL", "MISSING"}
    assert {fact.importance for fact in facts} == {"CRITICAL", "IMPORTANT", "MINOR", "TRIVIAL"}
    assert {fact.requires_inference for fact in facts} == {True, False}
    assert {len(fact.covering) for fact in facts} == {0, 1, 2}
    assert len({fact.topic for fact in facts}) > 2
    dropped = [fact.reason for row in coverage_rows for fact in row.dropped]
    assert set(dropped) - {"repeated"} == {
        "relative_time", "span_not_found", "no_inference", "unknown_peer"
    }  # fmt: skip
    others = [[one for one in row.dropped if one.reason != "repeated"] for row in coverage_rows]
    assert max(map(len, others)) == 1


def test_questions_come_to_every_grade_by_harness_and_by_judge(
    coverage_rows: list[CoverageRow],
) -> None:
    questions = [question for row in coverage_rows for question in row.questions or ()]
    assert sum(row.dropped_questions for row in coverage_rows) == 0
    assert set(Counter((question.grade, question.graded_by) for question in questions)) == {
        ("ANSWERABLE_CORRECT", "harness"),
        ("ANSWERABLE_CORRECT", "judge"),
        ("ANSWERABLE_WRONG", "judge"),
        ("UNANSWERABLE", "harness"),
    }
    assert {len(row.questions or ()) for row in coverage_rows} == {1, 2, 3, 4, 5}


def test_the_prompt_is_told_by_what_it_asks_for() -> None:
    assert asked_key(pass_1_request("a", SETTINGS, PROMPTS).params) == "reconstruction"
    found = window()
    request = minimality_request(found.conclusions, SETTINGS, PROMPTS)
    assert asked_key(request.params) == "items"


def test_a_schema_that_it_does_not_know_is_refused() -> None:
    params = pass_1_request("a", SETTINGS, PROMPTS).params
    schema = {"format": {"schema": {"properties": {"other": "any"}}}}
    with pytest.raises(BadRequestError, match="other"):
        answer_to(params | {"output_config": schema})


@pytest.mark.parametrize(
    ("when", "numbers"), [("0.5", [2, 4, 6]), ("1", [1, 2, 3, 4, 5, 6]), ("2-3", [2, 3])]
)
def test_a_fault_fires_when_it_is_told_to(when: str, numbers: list[int]) -> None:
    fault = fault_of(f"overloaded:{when}")
    assert fault.kind == "http_529"
    assert [number for number in range(1, 7) if fault.fires(number)] == numbers


def test_a_fault_can_fire_for_a_time() -> None:
    fault = fault_of("overloaded:2s-10.5s")
    times_s = [0.0, 1.9, 2.0, 10.4, 10.5, 99.0]
    assert [fault.fires(1, None, each) for each in times_s] == [
        *(False, False, True, True, False, False)
    ]
    assert fault_of("silent:0s-").fires(1, None, 1e9)


def test_an_open_range_fires_for_ever() -> None:
    assert fault_of("silent:3-").fires(10**9)
    assert not fault_of("silent:3-").fires(2)


def test_a_fault_can_wait_for_one_prompt() -> None:
    fault = fault_of("overloaded@matches:0.5")
    assert fault.kind == "http_529"
    assert fault.fires(2, "matches")
    assert not fault.fires(1, "matches")
    assert not fault.fires(2, "facts")
    assert not fault.fires(2)


@pytest.mark.parametrize(
    "text",
    [
        *("unknown:0.1", "silent", "silent:0", "silent:2", "http_5:1", "silent:1s-2"),
        *("silent:1-2s", "silent:-2s", "silent:s-2s", "plain:1"),
        *("silent@verdicts:1", "silent@:1", "unknown@facts:1"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"fault|float"):
        fault_of(text)


def remaining_of(quota: SimulatedQuota, now_s: float) -> tuple[bool, str, str]:
    """Return whether a request at ``now_s`` was admitted, what is left, and when it is full."""
    admitted = quota.admit(now_s)
    headers = quota.headers(now_s, NOON, admitted=admitted)
    assert ("retry-after" in headers) is not admitted
    prefix = "anthropic-ratelimit-requests"
    return admitted, headers[f"{prefix}-remaining"], headers[f"{prefix}-reset"][11:23]


def test_a_quota_is_full_again_when_its_period_is_over() -> None:
    quota = SimulatedQuota(requests=2, period_s=10)
    found = [remaining_of(quota, now_s) for now_s in (100, 103, 104, 110)]
    assert found == [
        (True, "1", "12:00:10.000"),
        (True, "0", "12:00:07.000"),
        (False, "0", "12:00:06.000"),
        (True, "1", "12:00:10.000"),
    ]


def test_a_quota_can_fill_up_bit_by_bit() -> None:
    quota = SimulatedQuota(requests=2, period_s=10, refills=True)
    found = [remaining_of(quota, now_s) for now_s in (100, 100, 104, 105, 1000)]
    assert found == [
        (True, "1", "12:00:05.000"),
        (True, "0", "12:00:10.000"),
        (False, "0", "12:00:06.000"),
        (True, "0", "12:00:10.000"),
        (True, "1", "12:00:05.000"),
    ]
    quota.admit(1000)
    assert quota.headers(1001, NOON, admitted=False)["retry-after"] == "5.000"


def test_started_by_itself_it_prints_its_port_first() -> None:
    server = Path(__file__).with_name("server.py")
    options = ["--port", "0", "--latency-s", "0", "--fault", "overloaded:0.1"]
    process = subprocess.Popen(
        [sys.executable, str(server), *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert 0 < int(process.stdout.readline()) < 65536
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()

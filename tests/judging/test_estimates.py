"""What a call is taken for: of the usual length at first, then as the answers before it were."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from statistics import mean

import pytest

from calibration.gallery import SHIPPED_GALLERY, gallery_cases
from evals.coverage.calls import PURPOSES as COVERAGE_PURPOSES
from evals.coverage.case import coverage_cases
from evals.coverage.prompts import load_coverage_prompts
from evals.defaults import RECORDED_JUDGE_MODEL, RECORDINGS_DIR, SAMPLE_TRACE
from evals.judging.case import Case, RunContext
from evals.judging.engine import JudgeEngine
from evals.judging.estimates import (
    CHARS_PER_TOKEN,
    SEEN_MARGIN,
    UNSEEN_MARGIN,
    USUAL_ANSWER_TOKENS,
    USUAL_THINKING_TOKENS,
    Estimates,
    size_of,
)
from evals.judging.prices import ModelPrices, PriceTable, TokenCounts
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.response import JudgeResponse
from evals.judging.store import AnswerStore
from evals.premise.case import premise_cases
from evals.premise.render import PURPOSES as PREMISE_PURPOSES
from evals.premise.render import load_premise_prompts
from evals.set_level.case import set_level_cases
from evals.set_level.render import SET_LEVEL_PURPOSE, load_set_level_prompts
from evals.traces import load_trace
from tests.judging.helpers import MODEL, request_for

PRICES = PriceTable(
    as_of=date(2026, 11, 30),
    batch_factor=0.5,
    models={MODEL: ModelPrices(input=2000, output=10_000, cache_read=200, cache_write=2500)},
)
USUAL = USUAL_ANSWER_TOKENS["premise.pass_1"]
SIZE = size_of(request_for("a"))._replace(max_tokens=4_000)


def test_before_an_answer_was_seen_it_is_of_the_usual_length_and_all_input_the_dearest() -> None:
    found = Estimates(PRICES, in_batch=False).of(SIZE)
    read = round(SIZE.body_chars / CHARS_PER_TOKEN)
    assert found[:2] == (read, USUAL)
    assert found.cost_usd == pytest.approx((read * 2500 + USUAL * 10_000) / 1_000_000)


def test_a_judge_that_reasons_is_expected_to_write_more() -> None:
    found = Estimates(PRICES, in_batch=False).of(SIZE._replace(thinks=True))
    assert found.output_tokens == USUAL + USUAL_THINKING_TOKENS


def test_no_answer_is_expected_to_be_longer_than_its_request_allows() -> None:
    estimates = Estimates(PRICES, in_batch=False)
    short, unknown = SIZE._replace(max_tokens=100), SIZE._replace(purpose="other")
    assert estimates.of(short).output_tokens == 100
    assert estimates.with_margin(short).output_tokens == 100
    assert estimates.of(unknown).output_tokens == 4_000
    assert estimates.at_most(SIZE).output_tokens == 4_000


def test_tokens_and_cost_of_each_prompt_are_learned_by_themselves() -> None:
    estimates = Estimates(PRICES, in_batch=False)
    estimates.learn(SIZE, TokenCounts(40, 60, 0, 10))
    estimates.learn(SIZE, TokenCounts(40, 60, 0, 20))
    assert estimates.of(SIZE)[:2] == (100, 15)
    learned = 40 * 2000 + 60 * 200 + 15 * 10_000
    assert estimates.of(SIZE).cost_usd == pytest.approx(learned / 1_000_000)
    long = SIZE._replace(body_chars=3 * SIZE.body_chars)
    assert estimates.of(long)[:2] == (300, 15)
    other = SIZE._replace(purpose="premise.pass_2")
    assert estimates.of(other).output_tokens == USUAL_ANSWER_TOKENS["premise.pass_2"]
    assert (estimates.knows("premise.pass_1"), estimates.knows("premise.pass_2")) == (True, False)
    assert estimates.of(SIZE._replace(model="claude-unknown")).cost_usd is None
    assert estimates.of(other._replace(model="claude-unknown")).cost_usd is None


def test_what_is_set_aside_has_a_margin_that_shrinks_once_an_answer_was_seen() -> None:
    estimates = Estimates(PRICES, in_batch=False)
    assert estimates.with_margin(SIZE).output_tokens == USUAL * UNSEEN_MARGIN
    estimates.learn(SIZE, TokenCounts(40, 60, 0, 200))
    assert estimates.with_margin(SIZE).output_tokens == 200 * SEEN_MARGIN


class _Measuring:
    """A judge that notes how long the recorded answers are."""

    def __init__(self, engine: JudgeEngine) -> None:
        self._engine = engine
        self.chars: defaultdict[str, dict[str, int]] = defaultdict(dict)

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        response = await self._engine.ask(request)
        self.chars[request.purpose][request.request_hash] = len(response.text)
        return response


def shipped_cases() -> Sequence[Case]:
    windows = load_trace(
        SAMPLE_TRACE, trace_format=None, skip_bad_records=False, dataset_shape=None
    ).windows
    return [
        *premise_cases(windows, load_premise_prompts()),
        *set_level_cases(windows, load_set_level_prompts()),
        *coverage_cases(windows, load_coverage_prompts()),
        *(case for cases in gallery_cases(SHIPPED_GALLERY).values() for case in cases),
    ]


def test_the_usual_lengths_are_those_of_the_recorded_answers(tmp_path: Path) -> None:
    settings = JudgeSettings(RECORDED_JUDGE_MODEL, "off")
    context = RunContext("run-1", "0", None, None, settings, over_inference_fails=True)

    async def measured() -> _Measuring:
        store = AnswerStore(tmp_path / "answers.sqlite")
        engine = JudgeEngine(store, Recordings(RECORDINGS_DIR), None)
        measuring = _Measuring(engine)
        for case in shipped_cases():
            await case.evaluate(measuring, context)
        await engine.aclose()
        return measuring

    chars = asyncio.run(measured()).chars
    assert set(chars) == set(USUAL_ANSWER_TOKENS)
    assert set(chars) == {*PREMISE_PURPOSES, SET_LEVEL_PURPOSE, *COVERAGE_PURPOSES}
    for purpose, by_hash in chars.items():
        tokens = mean(by_hash.values()) / CHARS_PER_TOKEN
        assert tokens <= USUAL_ANSWER_TOKENS[purpose] <= 1.1 * tokens + 20, purpose

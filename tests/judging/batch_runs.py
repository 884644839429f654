"""What the tests of the batch transport share: a judge of batches, cases of two steps, rounds."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from pydantic import SecretStr

from evals.config import NO_LIMITS, Limits
from evals.errors import JudgeError
from evals.judging.batch.api import BatchesApi
from evals.judging.batch.engine import BatchEngine
from evals.judging.batch.spool import MAX_BYTES, MAX_REQUESTS, Spool
from evals.judging.batch.status import RoundStatus
from evals.judging.budget import Budget
from evals.judging.case import FollowUp, Row, RunContext
from evals.judging.engine import EngineCounts
from evals.judging.isolation import Guard
from evals.judging.prices import ModelPrices, PriceTable
from evals.judging.recordings import Recordings
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.judging.retry import RetryPolicy
from evals.judging.sdk import ApiClient
from evals.judging.store import AnswerStore
from evals.records import Call, Provenance, Unjudged
from tests.judging.helpers import MODEL, request_for
from tests.messages_api.fixtures import MessagesApi

KEY = "sk-ant-a-key-of-batches"
CONTEXT = RunContext(
    "run-1", "0", None, None, JudgeSettings(MODEL, "off"), over_inference_fails=True
)
FIRST, SECOND = "premise.pass_1", "premise.pass_2"
"""What the two steps of a case are for."""
POLICY = RetryPolicy(
    max_attempts=3, attempt_timeout_s=20.0, first_wait_s=0.001, longest_pause_s=0.001
)
PRICES = PriceTable(
    as_of=date(2026, 11, 30),
    batch_factor=0.5,
    models={
        MODEL: ModelPrices(input=2000.0, output=10_000.0, cache_read=200.0, cache_write=2500.0)
    },
)


@asynccontextmanager
async def batch_engine(
    store: Path,
    api: MessagesApi,
    *,
    policy: RetryPolicy = POLICY,
    limits: Limits = NO_LIMITS,
    prices: PriceTable | None = None,
    max_requests: int = MAX_REQUESTS,
    max_bytes: int = MAX_BYTES,
) -> AsyncIterator[BatchEngine]:
    """Open a judge of batches at the local server, and close it."""
    client = ApiClient(api_key=SecretStr(KEY), base_url=api.url, max_connections=2)
    engine = BatchEngine(
        AnswerStore(store),
        Recordings(store.parent / "recordings"),
        BatchesApi(client, policy.attempt_timeout_s),
        policy,
        poll_s=0.001,
        budget=Budget(limits, prices, in_batch=True),
        spool=Spool(store.parent, max_requests=max_requests, max_bytes=max_bytes),
    )
    try:
        yield engine
    finally:
        await engine.aclose()


@dataclass(frozen=True, eq=False)
class TwoSteps:
    """Asks something, and then something that hangs on the answer."""

    case_id: str
    guard: Guard | None = None

    async def evaluate(self, judge: Judge, context: RunContext) -> Row:
        calls: list[Call] = []
        unjudged = None
        try:
            first = await judge.ask(replace(request_for(self.case_id), guard=self.guard))
            calls.append(first.call)
            second = await judge.ask(
                request_for(f"{self.case_id}, {len(first.text)}", purpose=SECOND)
            )
            calls.append(second.call)
        except JudgeError as error:
            unjudged = Unjudged.of(error)
        return row_of(self.case_id, context, calls, unjudged)

    def follow_ups(
        self,
        missing: Collection[str],
        settings: JudgeSettings,  # noqa: ARG002  the form of a case
    ) -> tuple[FollowUp, ...]:
        if FIRST not in missing:
            return ()
        return (FollowUp(request_for(self.case_id, purpose=SECOND), 1, 1, fed_by=(FIRST,)),)


def row_of(
    case_id: str, context: RunContext, calls: Sequence[Call], unjudged: Unjudged | None
) -> Row:
    """Return a row that says no more than what was asked."""
    return Row(
        kind="conclusion",
        instrument="premise",
        case_id=case_id,
        outcome="sound" if unjudged is None else "unjudged",
        unjudged=unjudged,
        calls=tuple(calls),
        provenance=Provenance(
            run_id=context.run_id,
            bench_version=context.bench_version,
            judge_model_id=context.settings.model,
            judge_prompt_hashes={},
            reasoning_enabled=False,
            judge_repeat=0,
            dataset_shape="production",
            git_commit=None,
            git_dirty=None,
            window_id="w1",
            window_text_hash="0" * 64,
            window_message_ids=(),
            message_timestamps=(),
            window_reconstructed=False,
            peer_id=None,
            deriver_prompt_hash=None,
            deriver_model_id=None,
            derived_at=None,
        ),
    )


def two_steps(count: int) -> list[TwoSteps]:
    """Return cases that differ."""
    return [TwoSteps(f"case {number}") for number in range(1, count + 1)]


@dataclass(frozen=True)
class Judged:
    """What cases came to."""

    rows: list[Row]
    rounds: int

    @property
    def reasons(self) -> list[str]:
        """Why cases are unjudged, in the order of the rows."""
        return [row.unjudged.reason for row in self.rows if row.unjudged is not None]

    @property
    def details(self) -> set[str]:
        return {row.unjudged.detail for row in self.rows if row.unjudged is not None}


async def judged(engine: BatchEngine, cases: Sequence[TwoSteps]) -> Judged:
    """Walk cases and settle rounds until every case has its row, as the plugin's pool does."""
    rows: dict[str, Row] = {}
    rounds = 0
    waiting = list(cases)
    while True:
        walked = await asyncio.gather(*(engine.walk(case, CONTEXT) for case in waiting))
        found = zip(waiting, walked, strict=True)
        rows |= {case.case_id: row for case, row in found if row is not None}
        waiting = [case for case in waiting if case.case_id not in rows]
        if not waiting:
            return Judged([rows[case.case_id] for case in cases], rounds)
        await engine.settle_round()
        rounds += 1
        assert rounds < 50, "the run does not come to an end"


def judge(
    store: Path,
    api: MessagesApi,
    cases: Sequence[TwoSteps],
    look: Callable[[BatchEngine], None] = lambda _: None,
    *,
    policy: RetryPolicy = POLICY,
    limits: Limits = NO_LIMITS,
    prices: PriceTable | None = None,
    max_requests: int = MAX_REQUESTS,
) -> Judged:
    """Judge cases with a judge of their own; ``look`` sees it before it is closed."""

    async def run() -> Judged:
        async with batch_engine(
            store,
            api,
            policy=policy,
            limits=limits,
            prices=prices,
            max_requests=max_requests,
        ) as engine:
            try:
                return await judged(engine, cases)
            finally:
                look(engine)

    return asyncio.run(run())


class Looked:
    """What a judge said of itself before it was closed."""

    counts: EngineCounts

    def __call__(self, engine: BatchEngine) -> None:
        self.counts = engine.counts

    @property
    def status(self) -> RoundStatus:
        """How far it was; there was a round."""
        assert self.counts.round is not None
        return self.counts.round


def stored(store: Path) -> dict[str, str]:
    """Return every answer that is kept, by request hash."""
    with closing(sqlite3.connect(store)) as db:
        return dict(db.execute("SELECT request_hash, message FROM answers").fetchall())


def open_batches(store: Path, api: MessagesApi) -> int:
    """Return how many batches are still to be heard of."""
    opened = AnswerStore(store)
    try:
        return len(opened.open_batches(api.url))
    finally:
        opened.close()

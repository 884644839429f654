"""Every way in which calls go wrong, against a real server: one row each.

Either nothing is lost, and of every conclusion is said what is said undisturbed; or each conclusion
that lacks an answer is unjudged with its reason. What a run under pytest makes of both is shown
once each, at the end. A longer outage, measured by hand, differs from the short one here in its
length alone.
"""

import json
import socket
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evals.errors import WrongModelError
from tests.faults.conftest import CALLS, CONCLUSIONS, FIRST_CALLS, judged
from tests.in_process import JudgedTrace, judge_trace
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import KEY, Evaluations

Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Fault:
    """What is injected."""

    name: str
    faults: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    quota: Mapping[str, float] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the run's configuration."""
    is_mild: bool = False
    """Whether every POST is answered all the same."""

    def begin(self, api: MessagesApi) -> None:
        api.reset(*self.faults, headers=self.headers, quota=self.quota, latency_s=0.02)

    def judge(self, store: Path, trace: Path, api: MessagesApi) -> JudgedTrace:
        self.begin(api)
        return judge_trace(store, trace, api, **self.options)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


SOON = {"call_timeout_s": 1.0}
"""For attempts that would take for ever; a good one that takes longer is made again."""

LOSSLESS = [
    *(Fault(f"a tenth HTTP {code}", (f"http_{code}:0.1",)) for code in (408, 409, 429, 500, 503)),
    Fault("a tenth HTTP 529", ("overloaded:0.1",)),
    Fault("outage of 1.5 s, all 529", ("overloaded:0s-1.5s",)),
    Fault("429 for 0.9 s, retry-after", ("rate_limited:0s-0.9s",), {"429/retry-after": "1"}),
    Fault("429 once, retry-after date", ("rate_limited:5-5",), {"retry-after": "@date+1"}),
    Fault("429 once, retry-after soon", ("rate_limited:5-5",), {"retry-after": "soon"}),
    Fault("quota of 15 a second", quota={"requests": 15, "period_s": 1.0}, is_mild=True),
    Fault("connections closed", ("outage:0.1",)),
    Fault("connections reset", ("reset:0.1",)),
    Fault("connections closed after the answer", ("closing:0.3",), is_mild=True),
    Fault("answers cut off", ("cut_off:0.1",)),
    Fault("broken gzip", ("broken_gzip:0.1",)),
    Fault("garbage for HTTP", ("garbage:0.1",)),
    Fault("chunked and gzip", ("chunked:0.5", "gzip:1.0"), is_mild=True),
    Fault("no Message", ("no_message:0.1",)),
    Fault("silent", ("silent:3-5",), options=SOON),
    Fault("dripping", ("dripping:3-5",), options=SOON),
    Fault("dripping headers", ("dripping_head:3-5",), options=SOON),
    Fault("headers and no body", ("headers_only:3-5",), options=SOON),
    Fault("half a body and silence", ("half_body:3-5",), options=SOON),
]


def named(fault: Fault) -> str:
    return fault.name


@pytest.mark.parametrize("fault", LOSSLESS, ids=named)
def test_nothing_is_lost(
    fault: Fault, store: Path, trace: Path, messages_api: MessagesApi, undisturbed: Rows
) -> None:
    found = fault.judge(store, trace, messages_api)
    assert not found.lacks_answers
    assert judged(found.rows) == undisturbed
    counts = messages_api.counts()
    # Every answer was given once: what was answered is not asked again.
    assert len(counts["answered"]) == CALLS
    assert found.counts.calls == CALLS
    assert found.counts.attempts == counts["posts"]
    whole = sum(counts["answered"].values())
    if not fault.options:
        assert whole == CALLS
    hurt = [kind for kind in counts["statuses"] if kind != "200"]
    assert hurt or fault.is_mild
    if fault.quota:
        assert counts["statuses"] == {"200": CALLS}


@dataclass(frozen=True)
class Lost:
    """A fault that stays, and what comes of it."""

    fault: Fault
    reason: str
    posts: int
    """POSTs that the server gets."""


FEW = {"max_attempts": 2}
ONE_BY_ONE = {"max_in_flight": 1}

LOST = [
    *(
        Lost(Fault(kind, (f"{kind}:1.0",)), reason, FIRST_CALLS)
        for kind, reason in {
            "truncated": "truncated",
            "refusal": "refused",
            "fenced": "invalid_output",
            "non_json": "invalid_output",
            "wrong_schema": "invalid_output",
        }.items()
    ),
    Lost(Fault("no Message", ("no_message:1.0",), options=FEW), "exhausted", 2 * FIRST_CALLS),
    *(
        Lost(Fault(f"HTTP {code}", (f"http_{code}:1.0",)), "exhausted", FIRST_CALLS)
        for code in (400, 413)
    ),
    *(
        Lost(Fault(f"HTTP {code}", (f"http_{code}:1.0",), options=ONE_BY_ONE), "exhausted", 1)
        for code in (401, 403, 404)
    ),
    Lost(Fault("all is spent", ("spend_cap:1.0",), options=ONE_BY_ONE), "exhausted", 1),
    Lost(Fault("HTTP 500 for good", ("http_500:1.0",), options=FEW), "exhausted", 2 * FIRST_CALLS),
]


@pytest.mark.parametrize("lost", LOST, ids=lambda lost: named(lost.fault))
def test_what_is_not_answered_is_unjudged_with_its_reason(
    lost: Lost, store: Path, trace: Path, messages_api: MessagesApi
) -> None:
    found = lost.fault.judge(store, trace, messages_api)
    assert_all_unjudged(found, lost.reason)
    counts = messages_api.counts_at_rest()
    assert counts["posts"] == lost.posts
    assert counts["in_flight"] == counts["open_connections"] == 0


def assert_all_unjudged(found: JudgedTrace, reason: str) -> None:
    assert found.lacks_answers
    assert not found.errors
    assert_no_verdict(found.rows, found.summary["premise"], reason)


def assert_no_verdict(rows: list[dict[str, Any]], premise: Mapping[str, Any], reason: str) -> None:
    assert [row["unjudged"]["reason"] for row in rows] == [reason] * CONCLUSIONS
    assert premise["unjudged_by_reason"] == {reason: CONCLUSIONS}
    # Never a score.
    assert premise["pass_rate"] == {
        "hits": 0, "n": 0, "unjudged": CONCLUSIONS, "value": None, "low": None, "high": None
    }  # fmt: skip
    assert premise["mean_decontextuality"]["value"] is None
    assert premise["mean_minimality"]["value"] is None


@pytest.mark.parametrize("kind", ["silent", "dripping", "half_body"])
def test_a_hard_deadline_loses_what_it_ends_and_nothing_else(
    kind: str, store: Path, trace: Path, messages_api: MessagesApi, undisturbed: Rows
) -> None:
    options = {"call_timeout_s": 3.0, "max_attempts": 1, "max_in_flight": 8}
    fault = Fault(kind, (f"{kind}@reconstruction:4-8",), options=options)
    found = fault.judge(store, trace, messages_api)
    counts = messages_api.counts_at_rest()
    ended = counts["statuses"][kind]
    assert 1 <= ended <= 5
    assert found.lacks_answers
    rows = found.rows
    reasons = Counter(row["unjudged"]["reason"] for row in rows if row["unjudged"])
    assert reasons == {"timeout": ended}
    by_case = judged(rows)
    others = [case for case, row in by_case.items() if row["unjudged"] is None]
    assert len(others) == CONCLUSIONS - ended
    assert {case: by_case[case] for case in others} == {case: undisturbed[case] for case in others}
    assert counts["in_flight"] == counts["open_connections"] == 0


class NoServer(MessagesApi):
    """An address where nobody answers."""

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(listener.getsockname()[1])


@pytest.fixture
def deaf() -> Iterator[NoServer]:
    """Connections are accepted, by the operating system, and never read."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield NoServer(listener)


@pytest.fixture
def absent() -> Iterator[NoServer]:
    """Nobody listens, and nobody else can take the port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield NoServer(bound)


def test_a_server_that_never_reads_is_a_timeout(store: Path, trace: Path, deaf: NoServer) -> None:
    found = judge_trace(store, trace, deaf, call_timeout_s=0.3, max_attempts=2)
    assert_all_unjudged(found, "timeout")
    assert found.counts.attempts == 2 * FIRST_CALLS


def test_a_server_that_is_not_there_ends_the_run(
    store: Path, trace: Path, absent: NoServer
) -> None:
    found = judge_trace(store, trace, absent, max_attempts=2)
    assert_all_unjudged(found, "exhausted")
    assert found.counts.attempts == 2 * FIRST_CALLS
    assert {"no connection" in row["unjudged"]["detail"] for row in found.rows} == {True}


def test_a_redirect_is_not_followed_with_the_key(
    store: Path, trace: Path, messages_api: MessagesApi, deaf: NoServer
) -> None:
    headers = {"location": f"{deaf.url}/v1/messages"}
    fault = Fault("redirect", ("http_307:1.0",), headers, options=ONE_BY_ONE)
    found = fault.judge(store, trace, messages_api)
    assert_all_unjudged(found, "exhausted")
    assert messages_api.counts()["posts"] == 1
    assert KEY not in json.dumps(found.rows)


def test_another_model_than_the_pinned_one_stops_the_run(
    store: Path, trace: Path, messages_api: MessagesApi
) -> None:
    fault = Fault("other model", ("other_model:1.0",), options={"max_in_flight": 2})
    found = fault.judge(store, trace, messages_api)
    assert found.rows == []
    assert {type(error) for error in found.errors.values()} == {WrongModelError}
    assert messages_api.counts()["posts"] <= 4
    with closing(sqlite3.connect(store)) as answers:
        assert answers.execute("SELECT count(*) FROM answers").fetchone() == (0,)


# -- under pytest ----------------------------------------------------------------------------


def test_a_run_that_met_every_passing_fault_exits_0_and_says_what_it_cost(
    evaluations: Evaluations, trace: Path, messages_api: MessagesApi, undisturbed: Rows
) -> None:
    kinds = ("http_500", "overloaded", "outage", "reset", "cut_off", "broken_gzip", "garbage")
    messages_api.reset(*(f"{kind}:{n}-{n}" for n, kind in enumerate(kinds, start=3)))
    run = evaluations.run("evals/premise", "--traces", str(trace), api=messages_api)
    assert run.code == 0, run.output
    assert judged(run.rows) == undisturbed
    counts = messages_api.counts()
    assert counts["answered"] == dict.fromkeys(counts["answered"], 1)
    assert len(counts["answered"]) == run.info["calls_sent"] == CALLS
    assert run.info["http_attempts"] == counts["posts"] == CALLS + len(kinds)


def test_a_run_that_got_no_answer_exits_1_and_has_no_figure(
    evaluations: Evaluations, trace: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset("http_500:1.0")
    few = ("--max-attempts", "2")
    run = evaluations.run("evals/premise", "--traces", str(trace), *few, api=messages_api)
    assert run.code == 1, run.output
    assert_no_verdict(run.rows, run.summary["premise"], "exhausted")
    assert f"{CONCLUSIONS} unjudged" in run.output
    assert KEY not in run.output
    assert run.info["http_attempts"] == messages_api.counts()["posts"] == 2 * FIRST_CALLS

"""Every way in which calls go wrong, in a whole run against a real server: one row each.

Either nothing is lost, and the run says of every conclusion what it says undisturbed; or each
conclusion that lacks an answer is unjudged with its reason, and the run exits 1. A longer outage,
measured by hand, differs from the short one here in its length alone.
"""

import socket
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import CALLS, CONCLUSIONS, FIRST_CALLS, judged
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import KEY, Evaluations, Finished

Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Fault:
    """What is injected."""

    name: str
    faults: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    quota: Mapping[str, float] | None = None
    options: tuple[str, ...] = ()
    """Of the run."""
    is_mild: bool = False
    """Whether every POST is answered all the same."""

    def begin(self, api: MessagesApi) -> None:
        api.reset(*self.faults, headers=self.headers, quota=self.quota, latency_s=0.02)

    def run(self, evaluations: Evaluations, trace: Path, api: MessagesApi) -> Finished:
        self.begin(api)
        return evaluations.run("evals/premise", "--traces", str(trace), *self.options, api=api)


SOON = ("--call-timeout-s", "1")
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
    fault: Fault,
    evaluations: Evaluations,
    trace: Path,
    messages_api: MessagesApi,
    undisturbed: Rows,
) -> None:
    run = fault.run(evaluations, trace, messages_api)
    assert run.code == 0, run.output
    assert judged(run.rows) == undisturbed
    counts = messages_api.counts()
    # Every answer was given once: what was answered is not asked again.
    assert len(counts["answered"]) == CALLS
    assert run.info["calls_sent"] == CALLS
    assert run.info["http_attempts"] == counts["posts"]
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


FEW = ("--max-attempts", "2")
ONE_BY_ONE = ("--max-in-flight", "1")

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
    lost: Lost, evaluations: Evaluations, trace: Path, messages_api: MessagesApi
) -> None:
    run = lost.fault.run(evaluations, trace, messages_api)
    assert_all_unjudged(run, lost.reason)
    counts = messages_api.counts_at_rest()
    assert counts["posts"] == lost.posts
    assert counts["in_flight"] == counts["open_connections"] == 0


def assert_all_unjudged(run: Finished, reason: str) -> None:
    assert run.code == 1, run.output
    assert [row["unjudged"]["reason"] for row in run.rows] == [reason] * CONCLUSIONS
    premise = run.summary["premise"]
    assert premise["unjudged_by_reason"] == {reason: CONCLUSIONS}
    # Never a score.
    assert premise["pass_rate"] == {
        "hits": 0, "n": 0, "unjudged": CONCLUSIONS, "value": None, "low": None, "high": None
    }  # fmt: skip
    assert premise["mean_decontextuality"]["value"] is None
    assert premise["mean_minimality"]["value"] is None
    assert f"{CONCLUSIONS} unjudged" in run.output


@pytest.mark.parametrize("kind", ["silent", "dripping", "half_body"])
def test_a_hard_deadline_loses_what_it_ends_and_nothing_else(
    kind: str,
    evaluations: Evaluations,
    trace: Path,
    messages_api: MessagesApi,
    undisturbed: Rows,
) -> None:
    options = ("--call-timeout-s", "3", "--max-attempts", "1", "--max-in-flight", "8")
    fault = Fault(kind, (f"{kind}@reconstruction:4-8",), options=options)
    run = fault.run(evaluations, trace, messages_api)
    counts = messages_api.counts_at_rest()
    ended = counts["statuses"][kind]
    assert 1 <= ended <= 5
    assert run.code == 1, run.output
    reasons = Counter(row["unjudged"]["reason"] for row in run.rows if row["unjudged"])
    assert reasons == {"timeout": ended}
    found = judged(run.rows)
    others = [case for case, row in found.items() if row["unjudged"] is None]
    assert len(others) == CONCLUSIONS - ended
    assert {case: found[case] for case in others} == {case: undisturbed[case] for case in others}
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


def test_a_server_that_never_reads_is_a_timeout(
    evaluations: Evaluations, trace: Path, deaf: NoServer
) -> None:
    options = ("--call-timeout-s", "0.3", "--max-attempts", "2")
    run = evaluations.run("evals/premise", "--traces", str(trace), *options, api=deaf)
    assert_all_unjudged(run, "timeout")
    assert run.info["http_attempts"] == 2 * FIRST_CALLS


def test_a_server_that_is_not_there_ends_the_run(
    evaluations: Evaluations, trace: Path, absent: NoServer
) -> None:
    run = evaluations.run("evals/premise", "--traces", str(trace), *FEW, api=absent)
    assert_all_unjudged(run, "exhausted")
    assert run.info["http_attempts"] == 2 * FIRST_CALLS
    assert {"no connection" in row["unjudged"]["detail"] for row in run.rows} == {True}


def test_a_redirect_is_not_followed_with_the_key(
    evaluations: Evaluations, trace: Path, messages_api: MessagesApi, deaf: NoServer
) -> None:
    headers = {"location": f"{deaf.url}/v1/messages"}
    fault = Fault("redirect", ("http_307:1.0",), headers, options=ONE_BY_ONE)
    run = fault.run(evaluations, trace, messages_api)
    assert_all_unjudged(run, "exhausted")
    assert messages_api.counts()["posts"] == 1
    assert KEY not in run.output


def test_another_model_than_the_pinned_one_stops_the_run(
    evaluations: Evaluations, trace: Path, messages_api: MessagesApi
) -> None:
    fault = Fault("other model", ("other_model:1.0",), options=("--max-in-flight", "2"))
    run = fault.run(evaluations, trace, messages_api)
    assert run.code == 1, run.output
    assert "WrongModelError" in run.output
    assert messages_api.counts()["posts"] <= 4
    assert run.info["complete"] is False
    with closing(sqlite3.connect(evaluations.store)) as store:
        assert store.execute("SELECT count(*) FROM answers").fetchone() == (0,)

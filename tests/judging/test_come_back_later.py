"""What a server says of waiting, off the wire: refusals, ``retry-after`` and rate-limit headers."""

import asyncio
from collections.abc import Sequence

import pytest
from pydantic import SecretStr

from evals.judging.calls import LiveCalls
from evals.judging.limiter import Pace
from evals.judging.live import LiveTransport
from evals.judging.retry import RetryPolicy
from tests.judging.helpers import request_for
from tests.judging.wire import KEY, exchange, failure_of
from tests.messages_api.fixtures import MessagesApi


def test_a_spent_account_ends_the_run_and_other_refusals_do_not(messages_api: MessagesApi) -> None:
    messages_api.reset("spend_cap:1-1", "rate_limited:2-2")
    spent, limited = exchange(messages_api.url, "a", "b", at_once=1)
    assert failure_of(spent).kind == "stop_run"
    assert "It is all spent." in failure_of(spent).what
    assert failure_of(limited).kind == "slow_down"


@pytest.mark.parametrize(
    ("headers", "clock_ahead_s", "asked_s"),
    [
        ({}, None, (None,)),
        ({"retry-after": "0"}, None, (0.0,)),
        ({"retry-after": "0.05"}, None, (0.05,)),
        ({"retry-after-ms": "50"}, None, (0.05,)),
        ({"retry-after-ms": "50", "retry-after": "9"}, None, (0.05,)),
        ({"retry-after": "1e9"}, None, (1e9,)),
        ({"retry-after": "9999999"}, None, (9999999.0,)),
        ({"retry-after": "-1"}, None, (None,)),
        ({"retry-after": "soon"}, None, (None,)),
        ({"retry-after": "@date-60"}, None, (0.0,)),
        ({"retry-after": "@date-60"}, 3600.0, (0.0,)),
        # By the clock of the server, which two header lines can be a second apart on.
        ({"retry-after": "@date+60"}, 3600.0, (60.0, 61.0)),
        ({"retry-after": "@date+60"}, -3600.0, (60.0, 61.0)),
        ({"429/retry-after": "7"}, None, (7.0,)),
        ({"529/retry-after": "7"}, None, (None,)),
    ],
)
def test_every_way_to_say_come_back_later_is_read_off_the_wire(
    headers: dict[str, str],
    clock_ahead_s: float | None,
    asked_s: Sequence[float | None],
    messages_api: MessagesApi,
) -> None:
    messages_api.reset("rate_limited:1-1", headers=headers, clock_ahead_s=clock_ahead_s)
    (result,) = exchange(messages_api.url, "a")
    assert failure_of(result).retry_after_s in asked_s


def calls_of(
    messages_api: MessagesApi,
    number: int,
    policy: RetryPolicy,
    at_once: int,
    *,
    paces: list[Pace] | None = None,
) -> LiveCalls:
    """Make ``number`` live calls, each of which is answered; the calls' counters.

    ``paces`` gets what the server lets the run do as each call is about to be sent.
    """

    async def run() -> LiveCalls:
        transport = LiveTransport(
            api_key=SecretStr(KEY), base_url=messages_api.url, max_in_flight=at_once
        )
        calls = LiveCalls(transport, policy, at_once)

        def may_send() -> None:
            if paces is not None:
                paces.append(calls.pace)

        try:
            sending = (calls.call(request_for(str(each)), may_send) for each in range(number))
            await asyncio.gather(*sending)
            return calls
        finally:
            await calls.aclose()

    return asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("kind", ["overloaded", "rate_limited"])
def test_an_outage_brings_the_number_at_once_down_and_it_climbs_back(
    kind: str, messages_api: MessagesApi
) -> None:
    messages_api.reset(f"{kind}:1-34", latency_s=0.02)
    policy = RetryPolicy(max_attempts=1, attempt_timeout_s=20, first_wait_s=0.05)
    paces: list[Pace] = []
    calls = calls_of(messages_api, 400, policy, at_once=32, paces=paces)
    limits = [pace.limit for pace in paces]
    assert calls.calls == len(messages_api.counts()["answered"]) == 400
    assert limits[:32] == [32] * 32
    down = limits.index(1)
    assert limits[down:] == sorted(limits[down:])
    assert limits[-1] == 32
    # Whoever was in flight, and then two probes, one at a time.
    assert calls.retries == 34


QUOTA = "anthropic-ratelimit-requests"


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "999999"},
        {"retry-after": "1e400"},
        {"retry-after": "nan"},
        {"retry-after": "-5"},
        {"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"},
        {"retry-after-ms": "1e12"},
        {f"{QUOTA}-remaining": "0", f"{QUOTA}-reset": "2100-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_what_no_server_can_mean_holds_nobody(
    headers: dict[str, str], messages_api: MessagesApi
) -> None:
    messages_api.reset("rate_limited:1-1", headers=headers)
    policy = RetryPolicy(max_attempts=2, attempt_timeout_s=20, first_wait_s=0.05)
    paces: list[Pace] = []
    calls = calls_of(messages_api, 20, policy, at_once=4, paces=paces)
    assert (calls.calls, calls.retries) == (20, 1)
    # With more than one place left there is no pause but what a server asks for.
    assert {pace.hold_s for pace in paces} == {0.0}


@pytest.mark.parametrize(("refills", "clock_ahead_s"), [(False, None), (True, 86400.0)])
def test_a_quota_that_is_used_up_brings_no_storm_of_refusals(
    refills: bool,  # noqa: FBT001  a row of the table
    clock_ahead_s: float | None,
    messages_api: MessagesApi,
) -> None:
    quota = {"requests": 20, "period_s": 1.0, "refills": refills}
    messages_api.reset(latency_s=0.02, quota=quota, clock_ahead_s=clock_ahead_s)
    policy = RetryPolicy(max_attempts=1, attempt_timeout_s=20)
    calls = calls_of(messages_api, 50, policy, at_once=8)
    # Every refusal would be an attempt more.
    assert (calls.calls, calls.retries) == (50, 0)
    assert messages_api.counts()["statuses"] == {"200": 50}


def test_a_large_quota_lets_everything_through_at_once(messages_api: MessagesApi) -> None:
    messages_api.reset(latency_s=0.05, quota={"requests": 1000, "period_s": 60.0})
    policy = RetryPolicy(max_attempts=1, attempt_timeout_s=20)
    calls = calls_of(messages_api, 200, policy, at_once=32)
    assert (calls.attempts, calls.pace.hold_s) == (200, 0)
    assert messages_api.counts()["max_in_flight"] == 32

"""What answers say of when to come back, in every form that they say it in."""

from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from evals.judging.headers import QuotaLeft, quotas_left, retry_after_s

NOW = datetime(2026, 6, 4, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1e9"}, 1e9),
        ({"retry-after": "9999999"}, 9999999.0),
        ({"retry-after": "1" * 5000}, inf),
        ({"retry-after": "Thu, 04 Jun 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thursday, 04-Jun-26 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu Jun  4 12:00:30 2026"}, 30.0),
        ({"retry-after": "Thu, 04 Jun 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Thu, 04 Jun 2026 14:00:30 +0200"}, 30.0),
        ({"retry-after": "Thu, 04 Jun 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 04 Jun 999999 11:00:00 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -1200"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, inf),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after-ms": "-1", "retry-after": "9"}, 9.0),
        ({"retry-after-ms": "x"}, None),
    ],
)
def test_every_form_of_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("Thu, 04 Jun 2026 09:00:00 GMT", 30.0),
        ("Thu, 04 Jun 2026 09:00:20 GMT", 10.0),
        ("Thu, 04 Jun 2026 10:00:00 GMT", 0.0),
        ("yesterday", 0.0),
    ],
)
def test_a_date_is_measured_by_the_clock_of_whoever_set_it(date: str, seconds: float) -> None:
    headers = {"retry-after": "Thu, 04 Jun 2026 09:00:30 GMT", "date": date}
    assert retry_after_s(headers, NOW) == seconds


def quota(kind: str = "requests", **changed: str | None) -> dict[str, str]:
    parts = {"limit": "50", "remaining": "3", "reset": "2026-06-04T12:00:30.000Z"} | changed
    return {f"anthropic-ratelimit-{kind}-{name}": text for name, text in parts.items() if text}


def test_every_quota_that_an_answer_tells_of_is_read() -> None:
    headers = quota("requests") | quota("input-tokens") | quota("output-tokens") | quota("tokens")
    assert {left.kind for left in quotas_left(headers, NOW)} == {
        "requests", "tokens", "input-tokens", "output-tokens"
    }  # fmt: skip
    assert quotas_left(quota("tokens"), NOW) == (QuotaLeft("tokens", 50, 3, 30.0),)
    assert quotas_left({}, NOW) == ()


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("2026-06-04T12:00:30.5Z", 30.5),
        ("2026-06-04t12:00:30.5z", 30.5),
        ("2026-06-04T14:00:30.250000001+02:00", 30.25),
        ("2026-06-04T11:59:30.0Z", -30.0),
        # In whole seconds, it can be any time of that second.
        ("2026-06-04T12:00:30Z", 31.0),
    ],
)
def test_a_reset_is_read_as_rfc_3339(reset: str, seconds: float) -> None:
    (left,) = quotas_left(quota(reset=reset), NOW)
    assert left.reset_in_s == seconds


@pytest.mark.parametrize(
    "changed",
    [
        *({"reset": text} for text in ("soon", "30", "2026-06-04 12:00:30Z", "2026-06-04")),
        *({"reset": text} for text in ("2026-06-04T12:00:30", "2026-13-04T12:00:30Z")),
        *({"reset": text} for text in ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00.0+12:00")),
        *({"remaining": text} for text in ("-1", "3.5", "many", "1_000", "\u0663", "9" * 30)),
        {"reset": None},
        {"remaining": None},
    ],
)
def test_a_quota_that_cannot_be_read_is_let_be(changed: dict[str, str | None]) -> None:
    headers = quota("requests", **changed) | quota("tokens")
    assert [left.kind for left in quotas_left(headers, NOW)] == ["tokens"]


@pytest.mark.parametrize("limit", [None, "none", "-1"])
def test_a_quota_without_a_readable_limit_is_still_one(limit: str | None) -> None:
    assert quotas_left(quota(limit=limit), NOW) == (QuotaLeft("requests", None, 3, 30.0),)


def test_a_reset_is_measured_by_the_clock_of_whoever_set_it() -> None:
    headers = quota() | {"date": "Thu, 04 Jun 2026 12:00:10 GMT"}
    (left,) = quotas_left(headers, NOW + timedelta(days=400))
    assert left.reset_in_s == 20.0

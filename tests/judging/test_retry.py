from datetime import UTC, datetime
from math import inf

import pytest

from evals.judging.retry import RetryPolicy, retry_after_s

NOW = datetime(2026, 6, 4, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "Thu, 04 Jun 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 04 Jun 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Thu, 04 Jun 2026 14:00:30 +0200"}, 30.0),
        ({"retry-after": "Thu, 04 Jun 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 04 Jun 999999 11:00:00 GMT"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, inf),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after-ms": "x"}, None),
    ],
)
def test_every_form_of_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


POLICY = RetryPolicy(
    max_attempts=9,
    attempt_timeout_s=1,
    first_wait_s=2,
    longest_wait_s=10,
    longest_retry_after_s=100,
)


@pytest.mark.parametrize(
    ("attempts", "asked", "chance", "wait_s"),
    [
        (1, None, 0.0, 1.0),
        (1, None, 1.0, 2.0),
        (2, None, 1.0, 4.0),
        (3, None, 0.5, 6.0),
        (4, None, 1.0, 10.0),
        (10_000, None, 1.0, 10.0),
        (1, 30.0, 0.0, 30.0),
        (3, 1.0, 1.0, 8.0),
        (1, 3600.0, 0.0, 100.0),
        (1, inf, 0.0, 100.0),
    ],
)
def test_waits_grow_with_jitter_within_bounds_and_honour_retry_after(
    attempts: int, asked: float | None, chance: float, wait_s: float
) -> None:
    assert POLICY.wait_s(attempts, asked, chance) == pytest.approx(wait_s)


@pytest.mark.parametrize(
    ("asked", "pause_s"), [(None, 1.0), (0.0, 0.0), (30.0, 30.0), (inf, 100.0)]
)
def test_others_pause_as_long_as_the_server_asked_and_no_longer(
    asked: float | None, pause_s: float
) -> None:
    assert POLICY.pause_s(asked, 0.0) == pause_s

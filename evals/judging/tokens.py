"""Calls and tokens behind rows of any instrument."""

from collections.abc import Iterable

from evals.judging.case import Row
from evals.metrics import histogram_of
from evals.records import AnswerSource, Call, Record


class TokenTotals(Record):
    """Calls and tokens behind the rows, each request counted once."""

    calls: int
    calls_by_purpose: dict[str, int]
    calls_by_source: dict[str, int]
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    live_input_tokens: int
    """Of those read in full, what this run itself bought."""
    live_output_tokens: int
    calls_without_usage: int
    """Answers whose origin states no token count: they are in no total above."""


_SOURCES: tuple[AnswerSource, ...] = ("live", "batch", "store", "recording")
_BOUGHT: frozenset[AnswerSource] = frozenset({"live", "batch"})


def token_totals(rows: Iterable[Row]) -> TokenTotals:
    """Return the calls and tokens behind ``rows``: a request that several share counts once."""
    by_hash: dict[str, Call] = {}
    for call in (call for row in rows for call in row.calls):
        known = by_hash.get(call.request_hash)
        if known is None or _rank(call) < _rank(known):
            by_hash[call.request_hash] = call
    calls = list(by_hash.values())
    return TokenTotals(
        calls=len(calls),
        calls_by_purpose=histogram_of([call.purpose] for call in calls).counts,
        calls_by_source=histogram_of([call.source] for call in calls).counts,
        input_tokens=_stated(call.input_tokens for call in calls),
        cache_read_tokens=_stated(call.cache_read_tokens for call in calls),
        cache_write_tokens=_stated(call.cache_write_tokens for call in calls),
        output_tokens=_stated(call.output_tokens for call in calls),
        live_input_tokens=_stated(call.input_tokens for call in calls if call.source in _BOUGHT),
        live_output_tokens=_stated(call.output_tokens for call in calls if call.source in _BOUGHT),
        calls_without_usage=sum(1 for call in calls if call.input_tokens is None),
    )


def _stated(counts: Iterable[int | None]) -> int:
    return sum(count for count in counts if count is not None)


def _rank(call: Call) -> tuple[int, int]:
    # A request that one row paid for and a later one found in the store was paid for in this run.
    return _SOURCES.index(call.source), -call.attempts

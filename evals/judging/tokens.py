"""Calls and tokens behind rows of any instrument."""

from collections.abc import Iterable
from typing import NamedTuple

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


class _Spent(NamedTuple):
    """What counts of a call: a run has two or three of them a conclusion in memory."""

    rank: tuple[int, int]
    purpose: str
    source: AnswerSource
    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None


class TokenFold:
    """``TokenTotals`` in the making, row by row: no row is kept."""

    def __init__(self) -> None:
        """Start without any."""
        self._by_hash: dict[str, _Spent] = {}

    def add(self, row: Row) -> None:
        """Take the calls behind a row."""
        for call in row.calls:
            known = self._by_hash.get(call.request_hash)
            rank = _rank(call)
            if known is None or rank < known.rank:
                self._by_hash[call.request_hash] = _Spent(
                    rank,
                    call.purpose,
                    call.source,
                    call.input_tokens,
                    call.cache_read_tokens,
                    call.cache_write_tokens,
                    call.output_tokens,
                )

    def result(self) -> TokenTotals:
        """Return the totals: a request that several rows share counts once."""
        calls = self._by_hash.values()
        bought = [call for call in calls if call.source in _BOUGHT]
        return TokenTotals(
            calls=len(calls),
            calls_by_purpose=histogram_of([call.purpose] for call in calls).counts,
            calls_by_source=histogram_of([call.source] for call in calls).counts,
            input_tokens=_stated(call.input_tokens for call in calls),
            cache_read_tokens=_stated(call.cache_read_tokens for call in calls),
            cache_write_tokens=_stated(call.cache_write_tokens for call in calls),
            output_tokens=_stated(call.output_tokens for call in calls),
            live_input_tokens=_stated(call.input_tokens for call in bought),
            live_output_tokens=_stated(call.output_tokens for call in bought),
            calls_without_usage=sum(1 for call in calls if call.input_tokens is None),
        )


def _stated(counts: Iterable[int | None]) -> int:
    return sum(count for count in counts if count is not None)


def _rank(call: Call) -> tuple[int, int]:
    # A request that one row paid for and a later one found in the store was paid for in this run.
    return _SOURCES.index(call.source), -call.attempts

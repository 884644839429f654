"""What a case needs beyond the answers that there are: the one account of plan and budget."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from evals.judging.case import Case
from evals.judging.estimates import CHARS_PER_TOKEN, Estimates, Size, size_of
from evals.judging.request import JudgeRequest, JudgeSettings


class Span(NamedTuple):
    """From least to most."""

    least: float
    most: float


class Later(NamedTuple):
    """Calls that hang on answers to come."""

    size: Size
    """Of one of them."""
    least: int
    """How many for sure, if every answer before them can be used."""
    most: int


class _FollowUp(NamedTuple):
    later: Later
    """Its size as rendered, with nothing where earlier answers will stand."""
    fed_by: tuple[str, ...]


@dataclass(frozen=True)
class Needs:
    """The calls of one case. Sizes alone: a run can be of a hundred thousand requests."""

    now: dict[str, Size]
    """Exactly those that can be told already, by request hash."""
    follow_ups: tuple[_FollowUp, ...]

    def later(self, estimates: Estimates) -> list[Later]:
        """Return the calls after those, each with the answers that will stand in it."""
        sizes = [*self.now.values(), *(each.later.size for each in self.follow_ups)]
        answers: Counter[str] = Counter()
        for size in sizes:
            tokens = estimates.of(size).output_tokens
            answers[size.purpose] = max(tokens, answers[size.purpose])
        found: list[Later] = []
        for later, fed_by in self.follow_ups:
            fed_tokens = sum(answers[purpose] for purpose in fed_by)
            chars = later.size.body_chars + round(fed_tokens * CHARS_PER_TOKEN)
            found.append(later._replace(size=later.size._replace(body_chars=chars)))
        return found


def needs_of(case: Case, lacking: Iterable[JudgeRequest], settings: JudgeSettings) -> Needs:
    """Return what a case needs.

    Args:
        case: walked as far as the answers reach.
        lacking: the requests without an answer that it came to.
        settings: the run's.
    """
    now = {each.request_hash: size_of(each) for each in lacking}
    purposes = {size.purpose for size in now.values()}
    return Needs(
        now,
        tuple(
            _FollowUp(Later(size_of(item.request), item.least, item.most), item.fed_by)
            for item in case.follow_ups(purposes, settings)
        ),
    )

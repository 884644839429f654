"""Before the first test of a recorded run: do the recordings reach?"""

from collections.abc import Callable, Iterable, Mapping

from evals.config import RunConfig
from evals.judging.case import Row
from evals.judging.gaps import gaps_of
from evals.judging.missing import MissingAnswers
from evals.records import Unjudged


class StopRunError(Exception):
    """The run ends before its first test; ``code`` is the exit code, the text says why."""

    def __init__(self, code: int, text: str) -> None:
        """Take the exit code and one message for the user."""
        super().__init__(text)
        self.code = code


def stop_without_answers(
    config: RunConfig, missing: MissingAnswers, rows: Mapping[str, Row | None]
) -> None:
    """Stop a recorded run whose recordings do not reach (design section 5).

    Args:
        config: the run's.
        missing: requests without an answer, and where they were written.
        rows: what each selected item came to with the answers that there are; None for an error.

    Raises:
        StopRunError: answers are missing, beyond what --allow-unjudged allows; or they were asked
            for and are written out.
    """
    if not missing.requests:
        return
    counts = sorted(missing.by_purpose.items())
    listed = ", ".join(f"{count} {purpose}" for purpose, count in counts)
    if missing.exported is not None:
        folder = missing.exported.folder
        text = (
            f"Exported {missing.requests} requests ({listed}) to {folder}. Nothing was judged."
            " Have them answered, then import the answers: python -m evals.judging import"
            f" --requests {folder} --results FILE. Another round may follow: pass 2 needs"
            " pass 1, matching needs gold."
        )
        raise StopRunError(0, text)
    found = [row for row in rows.values() if row is not None]
    share = largest_share(found, lambda gap: gap.reason == "not_recorded")
    if config.allow_unjudged > 0 and share is not None and share <= config.allow_unjudged:
        return
    text = (
        f"Recorded mode has no answer to {missing.requests} requests ({listed}) of {len(rows)}"
        f" selected cases, judge {config.judge_model!r}; later rounds may need more (pass 2 needs"
        " pass 1). Nothing was judged. To judge them, set ANTHROPIC_API_KEY; or write the requests"
        " out with --export-requests DIR, have them answered, and import the answers with"
        " python -m evals.judging import."
    )
    raise StopRunError(4, text)


def largest_share(rows: Iterable[Row], counts: Callable[[Unjudged], bool]) -> float | None:
    """Return the share of rows with a gap that counts, 0 to 1; None without rows.

    The largest of the instruments', so that a few windows do not drown among many conclusions.
    """
    by_instrument: dict[str, list[bool]] = {}
    for row in rows:
        lacks = any(counts(gap) for gap in gaps_of(row))
        by_instrument.setdefault(row.instrument, []).append(lacks)
    return max((sum(lacks) / len(lacks) for lacks in by_instrument.values()), default=None)

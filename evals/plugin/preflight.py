"""Before the first test of a recorded run: do the recordings reach?"""

from collections import Counter
from collections.abc import Sequence

from evals.config import RunConfig
from evals.judging.gist import Gist
from evals.judging.missing import MissingAnswers


class StopRunError(Exception):
    """The run ends before its first test; ``code`` is the exit code, the text says why."""

    def __init__(self, code: int, text: str) -> None:
        """Take the exit code and one message for the user."""
        super().__init__(text)
        self.code = code


def stop_without_answers(
    config: RunConfig, missing: MissingAnswers, rows: Sequence[Gist | None]
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
    shares = Shares()
    for row in rows:
        if row is not None:
            shares.add(row, lacks=any(gap.reason == "not_recorded" for gap in row.gaps))
    share = shares.largest
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


class Shares:
    """Which share of the rows lacks an answer, instrument by instrument."""

    def __init__(self) -> None:
        """Start without any row."""
        self._rows: Counter[str] = Counter()
        self._lacking: Counter[str] = Counter()

    def add(self, row: Gist, *, lacks: bool) -> None:
        """Take a row, and whether it counts as one that lacks an answer."""
        self._rows[row.judged.instrument] += 1
        self._lacking[row.judged.instrument] += lacks

    @property
    def largest(self) -> float | None:
        """The largest instrument's share, 0 to 1; None without rows.

        The largest of them, so that a few windows do not drown among many conclusions.
        """
        shares = (self._lacking[name] / rows for name, rows in self._rows.items())
        return max(shares, default=None)

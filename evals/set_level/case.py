"""The set-level bench's test case: all conclusions of one window, with the window."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from evals.errors import TraceError
from evals.judging.case import FollowUp, RunContext
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.records import Window
from evals.set_level.judge import judge_batch
from evals.set_level.render import SetLevelPrompts
from evals.set_level.row import SetLevelRow
from evals.untrusted import for_id


# Compared and hashed by identity: pytest hashes parameters, and a window can be long.
@dataclass(frozen=True, eq=False)
class SetLevelCase:
    """Everything that judging one batch needs; implements ``evals.judging.case.Case``."""

    window: Window
    """The exact messages that the deriver saw, and all that it minted from them."""
    prompts: SetLevelPrompts
    case_id: str
    """The window's slug, ASCII; with a hash of the window id where two windows share a slug."""

    async def evaluate(self, judge: Judge, context: RunContext) -> SetLevelRow:
        """Judge the batch: see ``judge_batch``."""
        return await judge_batch(self, judge, context)

    def follow_ups(
        self,
        missing: Collection[str],  # noqa: ARG002  the one call is the first and the last
        settings: JudgeSettings,  # noqa: ARG002
    ) -> tuple[FollowUp, ...]:
        """Return nothing: a batch is one call."""
        return ()


def set_level_cases(
    windows: Iterable[Window], prompts: SetLevelPrompts
) -> tuple[SetLevelCase, ...]:
    """Return one case a window that has a conclusion, in the order of the windows.

    Raises:
        TraceError: two windows have the same id, as when a trace is given twice.
    """
    batches = [window for window in windows if window.conclusions]
    counted = Counter(window.window_id for window in batches)
    doubled = [window_id for window_id, count in counted.items() if count > 1]
    if doubled:
        raise TraceError(
            f"window {for_id(doubled[0])}",
            f"{counted[doubled[0]]} windows with this id ({len(doubled)} such ids in all)",
            "window ids that are unique over all traces of a run",
            "Give each trace once; if two traces share window ids, rename those of one.",
        )
    slugs = Counter(for_id(window.window_id) for window in batches)
    return tuple(
        SetLevelCase(window=window, prompts=prompts, case_id=_case_id(window.window_id, slugs))
        for window in batches
    )


def _case_id(window_id: str, slugs: Counter[str]) -> str:
    slug = for_id(window_id)
    if slugs[slug] == 1:
        return slug
    digest = hashlib.sha256(window_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slug}-{digest[:12]}"

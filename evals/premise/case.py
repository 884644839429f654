"""The premise judge's test case: one conclusion with the window that it was minted from."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from evals.errors import TraceError
from evals.judging.case import FollowUp, RunContext
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.premise.follow_ups import conclusion_follow_ups
from evals.premise.judge import judge_conclusion
from evals.premise.render import PremisePrompts, WindowTexts
from evals.premise.row import ConclusionRow
from evals.records import Conclusion, Window
from evals.untrusted import for_id


# Compared and hashed by identity: pytest hashes parameters, and a window can be long.
@dataclass(frozen=True, eq=False)
class PremiseCase:
    """Everything that judging one conclusion needs; implements ``evals.judging.case.Case``."""

    texts: WindowTexts
    """The window, shared with the other conclusions minted from it."""
    conclusion: Conclusion
    prompts: PremisePrompts

    @property
    def window(self) -> Window:
        """The exact messages that the deriver saw."""
        return self.texts.window

    @property
    def case_id(self) -> str:
        """``<window slug>/<ordinal>-<conclusion id>``, ASCII."""
        ordinal = f"{self.conclusion.ordinal:03d}"
        own = for_id(self.conclusion.conclusion_id)
        return f"{for_id(self.window.window_id)}/{ordinal}-{own}"

    async def evaluate(self, judge: Judge, context: RunContext) -> ConclusionRow:
        """Judge the conclusion: see ``judge_conclusion``."""
        return await judge_conclusion(self, judge, context)

    def follow_ups(self, missing: Collection[str], settings: JudgeSettings) -> tuple[FollowUp, ...]:
        """Return pass 2 after pass 1, and the attribution search after either where it can run."""
        return conclusion_follow_ups(self, missing, settings)


def premise_cases(windows: Iterable[Window], prompts: PremisePrompts) -> tuple[PremiseCase, ...]:
    """Return one case a conclusion, in the order of the windows.

    Raises:
        TraceError: two conclusions come to the same case id, as when a trace is given twice.
    """
    cases = tuple(
        PremiseCase(texts=texts, conclusion=conclusion, prompts=prompts)
        for texts in map(WindowTexts, windows)
        for conclusion in texts.window.conclusions
    )
    counted = Counter(case.case_id for case in cases)
    doubled = [case_id for case_id, count in counted.items() if count > 1]
    if doubled:
        raise TraceError(
            f"case {doubled[0]}",
            f"{counted[doubled[0]]} conclusions with this id ({len(doubled)} such ids in all)",
            "window and conclusion ids that are unique over all traces of a run",
            "Give each trace once; if two traces share window ids, rename those of one.",
        )
    return cases

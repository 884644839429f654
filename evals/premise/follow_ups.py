"""What judging a conclusion may still ask, for the plan of a run."""

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from evals.errors import TooLargeError
from evals.judging.case import FollowUp
from evals.judging.request import JudgeSettings
from evals.premise.render import (
    PASS_1_PURPOSE,
    PASS_2_PURPOSE,
    OpenSlot,
    attribution_search_request,
    pass_2_request,
)

if TYPE_CHECKING:
    from evals.premise.case import PremiseCase


def conclusion_follow_ups(
    case: "PremiseCase", missing: Collection[str], settings: JudgeSettings
) -> tuple[FollowUp, ...]:
    """Return the calls after those that are missing; see ``Case.follow_ups``.

    The attribution search is one call at most: none for a sound conclusion, for one whose window
    settles every slot, and where the trace has nothing earlier. What does not fit into a request
    is not asked, nor what hangs on its answer.
    """
    found: list[FollowUp] = []
    earlier = case.window.earlier_messages
    with suppress(TooLargeError):
        if PASS_1_PURPOSE in missing:
            request = pass_2_request(case.conclusion, "{}", case.texts, settings, case.prompts)
            found.append(FollowUp(request, least=1, most=1, fed_by=(PASS_1_PURPOSE,)))
        if earlier and {PASS_1_PURPOSE, PASS_2_PURPOSE} & set(missing):
            request = attribution_search_request(
                case.conclusion, [OpenSlot(slot="", why="")], earlier, settings, case.prompts
            )
            found.append(FollowUp(request, least=0, most=1, fed_by=(PASS_2_PURPOSE,)))
    return tuple(found)

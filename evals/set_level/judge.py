"""Judging one batch: at most one call, and the repeats that need none."""

from typing import TYPE_CHECKING

from evals.errors import InvalidOutputError, JudgeError
from evals.judging.asking import Answered, CallLog, answer_place
from evals.judging.case import RunContext
from evals.judging.provenance import provenance_in
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.records import Conclusion, Unjudged
from evals.set_level.render import SET_LEVEL_PURPOSE, set_issues_request
from evals.set_level.repeats import string_repeats
from evals.set_level.row import SetLevelRow
from evals.set_level.schema import SetIssue, SetIssuesAnswer
from evals.untrusted import for_terminal

if TYPE_CHECKING:
    from evals.set_level.case import SetLevelCase


async def judge_batch(case: "SetLevelCase", judge: Judge, context: RunContext) -> SetLevelRow:
    """Judge one batch (Component 2). Never raises ``JudgeError``.

    One call; none for a batch of one, which has nothing to compare and so no issue, and none for
    a batch that does not fit into one request, which is unjudged.

    Raises:
        IsolationError: see ``Judge.ask``.
        WrongModelError: see ``Judge.ask``.
    """
    conclusions = case.window.conclusions
    log = CallLog(judge, (SET_LEVEL_PURPOSE,))
    issues: tuple[SetIssue, ...] | None = ()
    unjudged = None
    if len(conclusions) > 1:
        try:
            issues = await ask_set_issues(case, log, context.settings)
        except JudgeError as error:
            issues, unjudged = None, Unjudged.of(error)
    return SetLevelRow(
        kind="batch",
        instrument="set_level",
        case_id=case.case_id,
        outcome="scored" if unjudged is None else "unjudged",
        unjudged=unjudged,
        calls=log.calls,
        provenance=provenance_in(context, case.window, case.prompts.hashes(), conclusions),
        window_id=case.window.window_id,
        conclusion_ids=tuple(item.conclusion_id for item in conclusions),
        issues=issues,
        string_repeats=string_repeats(conclusions),
    )


async def ask_set_issues(
    case: "SetLevelCase", log: CallLog, settings: JudgeSettings
) -> tuple[SetIssue, ...]:
    """Ask about the whole batch at once.

    Raises:
        TooLargeError: it does not fit into one request; nothing was asked.
        InvalidOutputError: an issue names a conclusion that is not in the batch, or a REDUNDANCY
            group holds conclusions of several peers, which are stored apart.
        JudgeError: otherwise as ``CallLog.ask``, with its other errors.
    """
    request = set_issues_request(case.case_id, case.window, settings, case.prompts)
    answered = await log.ask(request, SetIssuesAnswer)
    by_id = {item.conclusion_id: item for item in case.window.conclusions}
    for issue in answered.answer.set_issues:
        _check(issue, by_id, answered)
    return answered.answer.set_issues


def _check(
    issue: SetIssue, by_id: dict[str, Conclusion], answered: Answered[SetIssuesAnswer]
) -> None:
    todo = "Ask again with another --judge-repeat, or check the prompt."
    unknown = [name for name in issue.conclusion_ids if name not in by_id]
    if unknown:
        raise InvalidOutputError(
            answer_place(answered),
            f"the unknown conclusion {for_terminal(unknown[0], 60)!r} in a {issue.kind} issue",
            f"ids of the {len(by_id)} conclusions asked about",
            todo,
        )
    peers = {by_id[name].peer_id for name in issue.conclusion_ids}
    if issue.kind == "REDUNDANCY" and len(peers) > 1:
        raise InvalidOutputError(
            answer_place(answered),
            f"a REDUNDANCY group about {len(peers)} peers: "
            f"{for_terminal(', '.join(issue.conclusion_ids), 120)}",
            "groups of conclusions about one peer",
            todo,
        )

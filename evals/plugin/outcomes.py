"""What a verdict looks like to pytest, and what a run's exit code says (design section 6)."""

from collections.abc import Sequence

import pytest

from evals.plugin.properties import OUTCOME_PROPERTY
from evals.runs.gates import GateResult

EXIT_HARD = int(pytest.ExitCode.TESTS_FAILED)
EXIT_NOTHING = int(pytest.ExitCode.NO_TESTS_COLLECTED)
EXIT_GATE = 10
EXIT_UNCALIBRATED = 11
EXIT_LEAK = 12

Status = tuple[str, str, str | tuple[str, dict[str, bool]]]
_STATUS: dict[str, Status] = {
    "sound": ("sound", ".", ("SOUND", {"green": True})),
    "unsound": ("unsound", "u", ("UNSOUND", {"yellow": True})),
    "unjudged": ("unjudged", "?", ("UNJUDGED", {"red": True})),
    "scored": ("scored", ".", ("SCORED", {"green": True})),
}


def status_of(report: pytest.TestReport | pytest.CollectReport) -> Status | None:
    """Return category, letter and word of a recorded outcome; None leaves pytest its own."""
    if not isinstance(report, pytest.TestReport) or report.when != "call" or not report.passed:
        return None
    if getattr(report, "context", None) is not None:  # a subtest copies its parent's properties
        return None
    for name, value in report.user_properties:
        if name == OUTCOME_PROPERTY:
            return _STATUS[str(value)]
    return None


def exit_code(
    current: int,
    *,
    leaked: bool,
    complete: bool,
    judged_nothing: bool,
    unjudged_share: float | None,
    allow_unjudged: float,
    gates: Sequence[GateResult],
) -> int:
    """Return the session's exit code: own codes only over a 0, a leak also over a 1.

    Args:
        current: what pytest has come to.
        leaked: an isolation leak was found.
        complete: every selected item came to a row.
        judged_nothing: no row of any kind was recorded.
        unjudged_share: rows that lack an answer of all rows, 0 to 1; None without rows.
        allow_unjudged: largest share that is still fine.
        gates: every gate of the run, checked.
    """
    if leaked and current in (0, EXIT_HARD):
        return EXIT_LEAK
    if current != 0:
        return current
    if judged_nothing:
        return EXIT_NOTHING
    if not complete or (unjudged_share is not None and unjudged_share > allow_unjudged):
        return EXIT_HARD
    return 0 if all(gate.passed for gate in gates) else EXIT_GATE

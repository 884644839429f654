"""Exit codes: own codes only over a 0, an isolation leak also over a 1 (design section 6)."""

import pytest

from evals.plugin.outcomes import exit_code
from evals.runs.gates import GateResult

MET = GateResult(gate="pass_rate >= 0.1", metric_value=0.5, passed=True, why="0.5")
SHORT = GateResult(gate="pass_rate >= 0.9", metric_value=0.5, passed=False, why="0.5")


@pytest.mark.parametrize(
    ("current", "changes", "wanted"),
    [
        (0, {}, 0),
        (0, {"gates": (MET,)}, 0),
        (0, {"gates": (MET, SHORT)}, 10),
        (0, {"leaked": True}, 12),
        (1, {"leaked": True}, 12),
        (1, {"gates": (SHORT,)}, 1),
        (2, {"leaked": True, "gates": (SHORT,)}, 2),
        (2, {"judged_nothing": True, "unjudged_share": None}, 2),
        (4, {"leaked": True}, 4),
        (0, {"judged_nothing": True, "unjudged_share": None}, 5),
        (0, {"unjudged_share": 0.01}, 1),
        (0, {"unjudged_share": 0.02, "allow_unjudged": 0.02}, 0),
        (0, {"unjudged_share": 0.03, "allow_unjudged": 0.02}, 1),
        (0, {"unjudged_share": 0.03, "gates": (SHORT,)}, 1),
        (0, {"complete": False, "gates": (MET,)}, 1),
        (2, {"complete": False}, 2),
    ],
)
def test_exit_code(current: int, changes: dict[str, object], wanted: int) -> None:
    found = exit_code(
        current,
        leaked=bool(changes.get("leaked")),
        complete=bool(changes.get("complete", True)),
        judged_nothing=bool(changes.get("judged_nothing")),
        unjudged_share=changes.get("unjudged_share", 0.0),  # type: ignore[arg-type]
        allow_unjudged=changes.get("allow_unjudged", 0.0),  # type: ignore[arg-type]
        gates=changes.get("gates", ()),  # type: ignore[arg-type]
    )
    assert found == wanted

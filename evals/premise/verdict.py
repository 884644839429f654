"""The verdict: the specification's function (1.3), and the reasons that it gives a reader."""

from evals.premise.schema import NO_INFERENCE, OVER_INFERENCE, Pass1, Pass2, UnsupportedElement
from evals.records import Record

PASSING_TIME = frozenset(
    {"ANCHORED_CORRECTLY", "SELF_ANCHORING", "HEDGED_APPROPRIATELY", "ANCHORED_TO_BAD_TIMESTAMP"}
)
"""A bad timestamp is the input's fault: a pass for the deriver, counted apart (1.3)."""


class Verdict(Record):
    """The outcome of both passes for one conclusion."""

    sound: bool
    """``pass_1_ok and pass_2_ok``."""
    pass_1_ok: bool
    pass_2_ok: bool
    failed_because: tuple[str, ...]
    """The conditions of 1.3 that did not hold, as field names; empty where it is sound."""


def verdict_of(p1: Pass1, p2: Pass2, *, over_inference_fails: bool) -> Verdict:
    """Combine the two passes (1.3).

    Args:
        p1: the blind pass.
        p2: the sighted pass.
        over_inference_fails: whether elements of kind OVER_INFERENCE count as unsupported; harness
            policy, so that the explicit/deduced boundary can move without a new prompt.
    """
    pass_1 = {
        "unknown_slots": len(p1.unknown_slots) == 0,
        "licensed_inference": p1.licensed_inference != NO_INFERENCE,
    }
    pass_2 = {
        "interpretation": p2.interpretation == "MATCH",
        "unsupported_elements": not counted_elements(p2, over_inference_fails=over_inference_fails),
        "force_preserved": p2.force_preserved,
        "time_status": p2.time_status in PASSING_TIME,
    }
    pass_1_ok, pass_2_ok = all(pass_1.values()), all(pass_2.values())
    return Verdict(
        sound=pass_1_ok and pass_2_ok,
        pass_1_ok=pass_1_ok,
        pass_2_ok=pass_2_ok,
        failed_because=tuple(name for name, ok in (pass_1 | pass_2).items() if not ok),
    )


def counted_elements(p2: Pass2, *, over_inference_fails: bool) -> tuple[UnsupportedElement, ...]:
    """Return the unsupported elements that policy counts."""
    return tuple(
        element
        for element in p2.unsupported_elements
        if over_inference_fails or element.kind != OVER_INFERENCE
    )

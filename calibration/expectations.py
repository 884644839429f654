"""What a specimen expects, against what the judge said. Empty: all met."""

from collections.abc import Iterable, Iterator

from calibration.specimen import ExpectedMissing, Specimen
from evals.premise.row import AttributedSlot
from evals.premise.schema import NO_INFERENCE, MissingSlot, Pass1, Pass2
from evals.premise.slots import slot_name
from evals.premise.verdict import Verdict
from evals.runs.calibration import Mismatch


def check_pass_1(specimen: Specimen, said: Pass1) -> tuple[Mismatch, ...]:
    """Compare pass 1 with the specimen's ``pass_1``, and with its verdict as far as it goes.

    A ``verdict: pass`` can only come of a pass 1 without open slots and with an inference (1.3), so
    pass 1 alone must show that, whether ``pass_1`` says it or not.
    """
    return tuple(_pass_1(specimen, said))


def check_pass_2(specimen: Specimen, said: Pass2) -> tuple[Mismatch, ...]:
    """Compare pass 2 with the specimen's ``pass_2``.

    Kinds of unsupported elements are compared exactly: policy goes by the exact OVER_INFERENCE.
    """
    return tuple(_pass_2(specimen, said))


def check_verdict(specimen: Specimen, said: Verdict) -> tuple[Mismatch, ...]:
    """Compare the verdict of both passes with the adjudicated one."""
    if said.sound == (specimen.verdict == "pass"):
        return ()
    because = f" because of {', '.join(said.failed_because)}" if said.failed_because else ""
    given = f"{'pass' if said.sound else 'fail'}{because}"
    return (Mismatch(expectation="verdict", wanted=specimen.verdict, said=given),)


def check_attribution(
    specimen: Specimen, verdict: Verdict, said: tuple[AttributedSlot, ...]
) -> tuple[Mismatch, ...]:
    """Compare the missing slots, as they stand after the search, with ``attribution``.

    Only a failure is attributed (1.4): a conclusion that the judge passes meets none of it,
    whatever pass 2 read in the window, since nothing was searched for it.
    """
    wanted = specimen.attribution or ()
    if verdict.sound:
        given, unmet = "nothing: it passes, so there is no failure to attribute", list(wanted)
    else:
        given, unmet = _words(_named(said)), _unnamed(wanted, said)
    return tuple(
        Mismatch(expectation="attribution", wanted=_among_them(item), said=given) for item in unmet
    )


def _pass_1(specimen: Specimen, said: Pass1) -> Iterator[Mismatch]:
    wanted = specimen.pass_1
    slots = [slot.slot for slot in said.unknown_slots]
    score = said.decontextuality
    if wanted.decontextuality_min is not None and score < wanted.decontextuality_min:
        yield _of_pass_1("decontextuality_min", f"at least {wanted.decontextuality_min}", score)
    if wanted.decontextuality_max is not None and score > wanted.decontextuality_max:
        yield _of_pass_1("decontextuality_max", f"at most {wanted.decontextuality_max}", score)
    for slot in wanted.unknown_slots_include or ():
        if slot_name(slot) not in map(slot_name, slots):
            yield _of_pass_1("unknown_slots_include", f"{slot} among them", slots)
    if slots and (wanted.unknown_slots is not None or specimen.verdict == "pass"):
        yield _of_pass_1("unknown_slots", "none", slots)
    inference = said.licensed_inference
    if inference == NO_INFERENCE:
        if wanted.licensed_inference == "present" or specimen.verdict == "pass":
            yield _of_pass_1("licensed_inference", "an inference", inference)
    elif wanted.licensed_inference == NO_INFERENCE:
        yield _of_pass_1("licensed_inference", NO_INFERENCE, inference)


def _pass_2(specimen: Specimen, said: Pass2) -> Iterator[Mismatch]:
    wanted = specimen.pass_2
    unsupported = [f"{item.kind} {item.element!r}" for item in said.unsupported_elements]
    kinds = {item.kind for item in said.unsupported_elements}
    if wanted.interpretation not in {None, said.interpretation}:
        yield _of_pass_2("interpretation", wanted.interpretation, said.interpretation)
    if wanted.force_preserved not in {None, said.force_preserved}:
        yield _of_pass_2("force_preserved", wanted.force_preserved, said.force_preserved)
    if wanted.time_status_in is not None and said.time_status not in wanted.time_status_in:
        yield _of_pass_2("time_status_in", " or ".join(wanted.time_status_in), said.time_status)
    if wanted.unsupported_elements is not None and unsupported:
        yield _of_pass_2("unsupported_elements", "none", unsupported)
    if wanted.unsupported is not None and not unsupported:
        yield _of_pass_2("unsupported", "at least one", unsupported)
    for kind in wanted.unsupported_kinds_include or ():
        if kind not in kinds:
            yield _of_pass_2("unsupported_kinds_include", f"{kind} among them", unsupported)
    for item in _unnamed(wanted.missing_include or (), said.missing):
        yield _of_pass_2("missing_include", _among_them(item), _named(said.missing))


def _unnamed(
    wanted: Iterable[ExpectedMissing], said: Iterable[MissingSlot | AttributedSlot]
) -> list[ExpectedMissing]:
    named = _named(said)
    return [item for item in wanted if f"{slot_name(item.slot)} {item.attribution}" not in named]


def _named(said: Iterable[MissingSlot | AttributedSlot]) -> list[str]:
    return [f"{slot_name(item.slot)} {item.attribution}" for item in said]


def _among_them(item: ExpectedMissing) -> str:
    return f"{item.slot} {item.attribution} among them"


def _of_pass_1(key: str, wanted: str, said: object) -> Mismatch:
    return Mismatch(expectation=f"pass_1.{key}", wanted=wanted, said=_words(said))


def _of_pass_2(key: str, wanted: object, said: object) -> Mismatch:
    return Mismatch(expectation=f"pass_2.{key}", wanted=_words(wanted), said=_words(said))


def _words(said: object) -> str:
    if isinstance(said, list):
        return ", ".join(said) or "none"
    return str(said).lower() if isinstance(said, bool) else str(said)

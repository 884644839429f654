"""One specimen as a test case, judged exactly as a trace's conclusion is judged."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from calibration.expectations import (
    check_attribution,
    check_pass_1,
    check_pass_2,
    check_verdict,
)
from calibration.specimen import Specimen
from evals.errors import JudgeError
from evals.judging.asking import CallLog
from evals.judging.case import FollowUp, Row, RunContext
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.premise.ask import ask_pass_1, ask_pass_2
from evals.premise.case import PremiseCase
from evals.premise.judge import Passes, attribute_missing, provenance_of
from evals.premise.render import PURPOSES, PremisePrompts, WindowTexts
from evals.premise.row import AttributedSlot
from evals.premise.schema import Pass1, Pass2
from evals.premise.verdict import Verdict, verdict_of
from evals.records import Provenance, Unjudged
from evals.runs.calibration import CALIBRATED_PROMPTS, Mismatch
from evals.untrusted import for_terminal

Mode = Literal["pass_1", "both_passes"]

ADJUDICATED_POLICY = True
"""``over_inference_fails`` of the gallery's verdicts: the specification's (1.3), whatever policy a
run has. The gallery measures the judge, and policy is no part of the judge."""


class SpecimenRow(Row):
    """What the judge made of one specimen."""

    kind: Literal["specimen"]
    instrument: Literal["gallery"]
    outcome: Literal["scored", "unjudged"]
    """Never sound or unsound: a specimen counts in no rate of a run."""
    specimen_id: str
    mode: Mode
    pass_1: Pass1 | None
    pass_2: Pass2 | None
    """None where pass 1 was asked alone, or there is no answer."""
    verdict: Verdict | None
    """As ``pass_2``."""
    missing: tuple[AttributedSlot, ...]
    """As a conclusion's row has it: pass 2's missing slots, with the attribution search's word on
    absent ones where it ran. Empty, too, where the row is unjudged or pass 1 was asked alone."""
    mismatches: tuple[Mismatch, ...]
    """What was not met; of the answers that there are, where the row is unjudged."""

    @property
    def met(self) -> bool:
        """True where all that the specimen expects in this mode was judged and met."""
        return self.unjudged is None and not self.mismatches

    @property
    def shortfall(self) -> str:
        """Every reason why the specimen is not met, a line each; empty where it is met."""
        lines = [f"specimen {self.specimen_id}, {self.mode}:"] if not self.met else []
        if self.unjudged is not None:
            detail = for_terminal(self.unjudged.detail, 400)
            lines.append(f"  not judged ({self.unjudged.reason}): {detail}")
        for item in self.mismatches:
            said = for_terminal(item.said, 400)
            lines.append(f"  {item.expectation}: wanted {item.wanted}; the judge said {said}")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Answers:
    pass_1: Pass1 | None = None
    pass_2: Pass2 | None = None
    verdict: Verdict | None = None
    missing: tuple[AttributedSlot, ...] | None = None
    """None where there was no attribution, or no answer to its search."""
    unjudged: Unjudged | None = None


# Compared and hashed by identity, like the cases of traces.
@dataclass(frozen=True, eq=False)
class SpecimenCase:
    """One specimen in one mode; implements ``evals.judging.case.Case``."""

    specimen: Specimen
    mode: Mode
    prompts: PremisePrompts

    @property
    def case_id(self) -> str:
        """The specimen's id, ASCII. Unique in its test function; the mode stands in its name."""
        return self.specimen.slug

    @cached_property
    def premise_case(self) -> PremiseCase:
        """The same conclusion and window as a case of the premise judge."""
        window = self.specimen.as_window
        return PremiseCase(WindowTexts(window), window.conclusions[0], self.prompts)

    async def evaluate(self, judge: Judge, context: RunContext) -> SpecimenRow:
        """Ask pass 1 and, in mode ``both_passes``, pass 2 and the attribution; compare.

        Never raises ``JudgeError``: that becomes an unjudged row. That goes for the attribution
        search too, without which a trace's conclusion keeps its verdict: a hard assert needs an
        answer.

        Raises:
            IsolationError: see ``Judge.ask``.
            WrongModelError: see ``Judge.ask``.
        """
        log = CallLog(judge, PURPOSES)
        answers = await self._ask(log, context)
        return SpecimenRow(
            kind="specimen",
            instrument="gallery",
            case_id=self.case_id,
            outcome="scored" if answers.unjudged is None else "unjudged",
            unjudged=answers.unjudged,
            calls=log.calls,
            provenance=self._provenance(context),
            specimen_id=self.specimen.id,
            mode=self.mode,
            pass_1=answers.pass_1,
            pass_2=answers.pass_2,
            verdict=answers.verdict,
            missing=answers.missing or (),
            mismatches=self._mismatches(answers),
        )

    def follow_ups(self, missing: Collection[str], settings: JudgeSettings) -> tuple[FollowUp, ...]:
        """Return those of the conclusion; none where pass 1 is asked alone."""
        if self.mode == "pass_1":
            return ()
        return self.premise_case.follow_ups(missing, settings)

    async def _ask(self, log: CallLog, context: RunContext) -> _Answers:
        try:
            pass_1 = await ask_pass_1(self.premise_case, log, context.settings)
        except JudgeError as error:
            return _Answers(unjudged=Unjudged.of(error))
        if self.mode == "pass_1":
            return _Answers(pass_1.answer)
        try:
            pass_2 = await ask_pass_2(self.premise_case, pass_1, log, context.settings)
        except JudgeError as error:
            return _Answers(pass_1.answer, unjudged=Unjudged.of(error))
        verdict = verdict_of(pass_1.answer, pass_2.answer, over_inference_fails=ADJUDICATED_POLICY)
        passes = Passes(pass_1.answer, pass_2.answer, verdict, None)
        found = await attribute_missing(self.premise_case, passes, log, context.settings)
        missing = found.missing if found.unjudged is None else None
        return _Answers(pass_1.answer, pass_2.answer, verdict, missing, found.unjudged)

    def _mismatches(self, answers: _Answers) -> tuple[Mismatch, ...]:
        found: tuple[Mismatch, ...] = ()
        if answers.pass_1 is not None:
            found += check_pass_1(self.specimen, answers.pass_1)
        if answers.pass_2 is not None:
            found += check_pass_2(self.specimen, answers.pass_2)
        if answers.verdict is not None:
            found += check_verdict(self.specimen, answers.verdict)
        if answers.verdict is not None and answers.missing is not None:
            found += check_attribution(self.specimen, answers.verdict, answers.missing)
        return found

    def _provenance(self, context: RunContext) -> Provenance:
        whole = provenance_of(self.premise_case, context)
        hashes = {name: whole.judge_prompt_hashes[name] for name in CALIBRATED_PROMPTS}
        return whole.model_copy(update={"judge_prompt_hashes": hashes})

"""The row of one batch: everything that metrics and report are made from."""

from typing import Literal, Self

from pydantic import model_validator

from evals.judging.case import Row
from evals.set_level.schema import IssueKind, SetIssue


class SetLevelRow(Row):
    """One batch of conclusions, judged or unjudged."""

    kind: Literal["batch"]
    instrument: Literal["set_level"]
    outcome: Literal["scored", "unjudged"]
    window_id: str
    conclusion_ids: tuple[str, ...]
    """Every conclusion of the batch, in order."""
    issues: tuple[SetIssue, ...] | None
    """The judge's, as it gave them; None exactly when the row is unjudged. Empty, without a call,
    for a batch of one."""
    string_repeats: tuple[tuple[str, ...], ...]
    """Groups found without a judge (``string_repeats``); there for unjudged rows too."""

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if len({self.issues is None, self.unjudged is not None, self.outcome == "unjudged"}) > 1:
            message = f"{self.outcome}, but issues or unjudged say otherwise"
            raise ValueError(message)
        named = [issue.conclusion_ids for issue in self.issues or ()]
        strangers = set().union(*named, *self.string_repeats) - set(self.conclusion_ids)
        if strangers:
            message = f"{min(strangers)} is in a group and not in the batch"
            raise ValueError(message)
        return self

    @property
    def redundancy_groups(self) -> tuple[tuple[str, ...], ...] | None:
        """The judge's REDUNDANCY groups, the same members counted once; None if unjudged.

        Members and groups in the order of the batch. Groups can overlap: a conclusion that states
        two facts is in both of their groups. Of each group one conclusion is to stay.
        """
        if self.issues is None:
            return None
        place = {name: number for number, name in enumerate(self.conclusion_ids)}
        groups = {
            tuple(sorted(issue.conclusion_ids, key=place.__getitem__))
            for issue in self._issues_of("REDUNDANCY")
        }
        return tuple(sorted(groups, key=lambda group: [place[name] for name in group]))

    @property
    def contradictions(self) -> int | None:
        """How many TEMPORAL_CONFUSION issues there are; None if unjudged."""
        return None if self.issues is None else len(self._issues_of("TEMPORAL_CONFUSION"))

    def _issues_of(self, kind: IssueKind) -> list[SetIssue]:
        return [issue for issue in self.issues or () if issue.kind == kind]

"""The coverage bench's test case: one window with the peers that it is asked about."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evals.config import ROOT
from evals.coverage.audited import audited_gold
from evals.coverage.judge import judge_window
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.row import CoverageRow
from evals.coverage.schema import GoldItem
from evals.errors import TraceError
from evals.judging.case import RunContext
from evals.judging.response import Judge
from evals.judging.window_text import message_lines
from evals.records import Window
from evals.untrusted import for_id

AUDITED_GOLD_DIR = ROOT / "calibration" / "gold"
"""Gold that a person has corrected, one file a window text (3.7); used in the judge's place."""


# Compared and hashed by identity: pytest hashes parameters, and a window can be long.
@dataclass(frozen=True, eq=False)
class CoverageCase:
    """Everything that judging one window needs; implements ``evals.judging.case.Case``."""

    window: Window
    peers: tuple[str, ...]
    """Whom gold and questions are about: at least one, each once."""
    prompts: CoveragePrompts
    audited: tuple[GoldItem, ...] | None
    """Gold corrected by a person; None: the judge extracts it."""

    @property
    def case_id(self) -> str:
        """The window's slug, with a hash where the slug is not the whole id; ASCII."""
        name = self.window.window_id
        slug = for_id(name)
        if slug == name:
            return slug
        return f"{slug}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"

    @cached_property
    def window_lines(self) -> str:
        """The messages as prompts show them: ``message_lines(window.messages)``."""
        return message_lines(self.window.messages)

    async def evaluate(self, judge: Judge, context: RunContext) -> CoverageRow:
        """Judge the window: see ``judge_window``."""
        return await judge_window(self, judge, context)


def coverage_cases(
    windows: Iterable[Window], prompts: CoveragePrompts, audited_dir: Path = AUDITED_GOLD_DIR
) -> tuple[CoverageCase, ...]:
    """Return one case a window that has a peer to ask about, in the order of the windows.

    A window without conclusions counts too: everything it holds was missed.

    Args:
        windows: of all traces of the run.
        prompts: the run's.
        audited_dir: where gold corrected by a person lies.

    Raises:
        TraceError: two windows come to the same case id, as when a trace is given twice.
        CalibrationError: a file of audited gold cannot be read.
    """
    cases = tuple(
        CoverageCase(
            window=window,
            peers=peers,
            prompts=prompts,
            audited=audited_gold(window.window_text_hash, audited_dir, peers),
        )
        for window in windows
        if (peers := peers_of(window))
    )
    counted = Counter(case.case_id for case in cases)
    doubled = [case_id for case_id, count in counted.items() if count > 1]
    if doubled:
        raise TraceError(
            f"case {doubled[0]}",
            f"{counted[doubled[0]]} windows with this id ({len(doubled)} such ids in all)",
            "window ids that are unique over all traces of a run",
            "Give each trace once; if two traces share window ids, rename those of one.",
        )
    return cases


def peers_of(window: Window) -> tuple[str, ...]:
    """Return whom a window is judged about: the deriver's peer, then its conclusions' peers.

    Nobody else who speaks in it, so never an assistant that no conclusion is about.
    """
    named = [] if window.peer_id is None else [window.peer_id]
    return tuple(dict.fromkeys([*named, *(item.peer_id for item in window.conclusions)]))

"""The coverage bench's test case: one window with the peers that it is asked about."""

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evals.coverage.audited import audited_gold
from evals.coverage.follow_ups import window_follow_ups
from evals.coverage.judge import judge_window
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.row import CoverageRow
from evals.coverage.schema import GoldItem
from evals.defaults import ROOT
from evals.errors import TraceError
from evals.judging.case import FollowUp, RunContext
from evals.judging.request import JudgeSettings
from evals.judging.response import Judge
from evals.judging.window_text import message_lines
from evals.records import Window
from evals.untrusted import for_id

_LOG = logging.getLogger(__name__)

AUDITED_GOLD_DIR = ROOT / "calibration" / "gold"
"""Gold that a person has corrected, one file a window text (3.7); used in the judge's place."""
ASSISTANTS = frozenset({"assistant", "ai", "bot", "chatbot", "model", "system"})
"""Peer ids, case folded, that are a role and no person: nothing is asked about them."""


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

    def follow_ups(self, missing: Collection[str], settings: JudgeSettings) -> tuple[FollowUp, ...]:
        """Return matching and topics after gold, answers after questions, comparison last."""
        return window_follow_ups(self, missing, settings)


def coverage_cases(
    windows: Iterable[Window], prompts: CoveragePrompts, audited_dir: Path = AUDITED_GOLD_DIR
) -> tuple[CoverageCase, ...]:
    """Return one case a window that has a peer to ask about, in the order of the windows.

    A window without conclusions counts too: everything it holds was missed. How many windows have
    nobody to ask about is logged.

    Args:
        windows: of all traces of the run: see ``peers_by_conversation``.
        prompts: the run's.
        audited_dir: where gold corrected by a person lies.

    Raises:
        TraceError: two windows come to the same case id, as when a trace is given twice.
        CalibrationError: a file of audited gold cannot be read.
    """
    windows = tuple(windows)
    told_of = peers_by_conversation(windows)
    cases = tuple(
        CoverageCase(
            window=window,
            peers=peers,
            prompts=prompts,
            audited=audited_gold(window.window_text_hash, audited_dir, peers),
        )
        for window in windows
        if (peers := peers_of(window, told_of))
    )
    if len(cases) < len(windows):
        _LOG.info("%d windows without a peer to ask about: no case", len(windows) - len(cases))
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


def peers_by_conversation(windows: Iterable[Window]) -> dict[str | None, tuple[str, ...]]:
    """Return whom the conclusions of each conversation are about, sorted.

    Args:
        windows: all of the run, so that a window's peers do not hang on its own conclusions.

    Returns:
        conversation id -> peers, over all its windows; under None the peers of those windows that
        name neither a conversation nor a peer.
    """
    told_of: dict[str | None, set[str]] = defaultdict(set)
    for window in windows:
        if window.conversation_id is not None or window.peer_id is None:
            told_of[window.conversation_id].update(item.peer_id for item in window.conclusions)
    return {conversation: tuple(sorted(peers)) for conversation, peers in told_of.items()}


def peers_of(
    window: Window, told_of: Mapping[str | None, tuple[str, ...]] | None = None
) -> tuple[str, ...]:
    """Return whom a window is judged about.

    That is the deriver's peer and then its conclusions' peers; where the deriver ran for no one
    peer, everybody whom a conclusion of the conversation is about: were it this window's own
    conclusions alone, to mint nothing about a peer would take that peer's facts out of the gold. A
    peer whom no conclusion of the whole conversation is about is still not seen.

    Nobody else who speaks in it, and never an assistant: traces state no roles, so what can be told
    of one is its name (``ASSISTANTS``) and that no conclusion is about it.

    Args:
        window: the window.
        told_of: ``peers_by_conversation`` of the run; without it the window stands alone.
    """
    if window.peer_id is None:
        known = peers_by_conversation([window]) if told_of is None else told_of
        named = known[window.conversation_id]
    else:
        own = (item.peer_id for item in window.conclusions)
        named = tuple(dict.fromkeys([window.peer_id, *own]))
    return tuple(peer for peer in named if peer.casefold() not in ASSISTANTS)

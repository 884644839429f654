"""The sentences that say what the figures mean for the next change to the deriver (1.4, 4.4.6)."""

from collections import Counter

from evals.premise.metrics import MIXED, PremiseSummary
from evals.report import numbers
from evals.runs.record import RunInfo

ATTRIBUTION_MEANING = {
    "PRESENT_IN_WINDOW": "The window settles them: prompt work on the deriver can fix them now.",
    "ABSENT_FROM_WINDOW": (
        "They were settled before the window: no prompt can fix them; "
        "the deriver needs retrieval or prior conclusions at write time."
    ),
    "ABSENT_EVERYWHERE": (
        "Nobody ever said them: no context can supply them, "
        "so the deriver can only hedge or stay silent."
    ),
}
"""What can fix an open slot of each attribution."""


def attribution_reading(summary: PremiseSummary) -> str:
    """Return what the attribution split says to do next, in one or two sentences."""
    split = summary.failure_attribution_split
    slots = sum(split.counts.values())
    if split.n == 0:
        return "No conclusion failed, so there is nothing to attribute."
    failed = numbers.counted(split.n, "failed conclusion")
    if slots == 0 and summary.unattributed_slots:
        return (
            f"{failed}, and no open slot that pass 2 attributes: the split says nothing on what "
            "to do next."
        )
    if slots == 0:
        return f"{failed} and no open slot: they fail for what they say, not for what they lack."
    top = max(split.counts.values())
    leading = [name for name, number in split.counts.items() if number == top]
    if len(leading) > 1:
        return (
            f"{' and '.join(leading)} are level at {numbers.count(top)} of "
            f"{numbers.counted(slots, 'open slot')}: the split alone does not decide the next step."
        )
    weight = "Most" if 2 * top > slots else "The largest part"
    return (
        f"{weight} of the open slots, {numbers.share_of(top, slots)}, are {leading[0]}. "
        f"{ATTRIBUTION_MEANING[leading[0]]}"
    )


def attribution_by_conclusion(summary: PremiseSummary) -> str | None:
    """Return how many failed conclusions are in each group of the split; None without failures."""
    split = summary.failure_attribution_by_conclusion
    if split.n == 0:
        return None
    mixed = " (mixed: open slots of several attributions)" if MIXED in split.counts else ""
    counts = numbers.counts_text(split.counts)
    return f"By conclusion, {numbers.count(split.n)} failed: {counts}{mixed}."


def attribution_limits(summary: PremiseSummary) -> list[str]:
    """Return what a reader of the split must know: failures outside it, and how far it looked."""
    notes = []
    failed = summary.failure_attribution_split.n
    if summary.failed_without_open_slot:
        notes.append(
            f"{numbers.share_of(summary.failed_without_open_slot, failed)} failed conclusions "
            "leave no slot open: they fail for what they say, so see the failed conditions."
        )
    if summary.unattributed_slots:
        notes.append(
            f"{numbers.counted(summary.unattributed_slots, 'open slot')} of the blind reader "
            "without attribution, outside the split: pass 2 does not list them as missing."
        )
    return notes + _search_limits(summary)


def _search_limits(summary: PremiseSummary) -> list[str]:
    scopes = Counter(summary.attribution_scope.counts)
    reasons = summary.attribution_unjudged_by_reason
    failed_searches = sum(reasons.values())
    window_alone = scopes["window"] - failed_searches
    notes = []
    if window_alone:
        notes.append(
            f"For {numbers.share_of(window_alone, scopes.total())} conclusions with "
            "something missing, only the window was searched: there, absent is pass 2's reading "
            "and was not checked against the earlier conversation."
        )
    if failed_searches:
        notes.append(
            f"For {numbers.share_of(failed_searches, scopes.total())} conclusions with something "
            "missing, the search of the earlier conversation gave no usable answer "
            f"({numbers.counts_text(reasons)}): there, absent is pass 2's reading, unchecked."
        )
    return notes


def unjudged_parts(summary: PremiseSummary) -> list[tuple[str, str]]:
    """Return what has no judgement by reason, as name and counts; only where there is any."""
    parts = (
        ("verdict", summary.unjudged_by_reason),
        ("minimality", summary.minimality_unjudged_by_reason),
        ("attribution", summary.attribution_unjudged_by_reason),
    )
    return [(name, numbers.counts_text(counts)) for name, counts in parts if counts]


def commit_text(commit: str | None, *, dirty: bool | None) -> str:
    """Return the commit of the code, and whether its files differed from it."""
    return f"{commit or numbers.NOTHING}{' with uncommitted changes' if dirty else ''}"


def calibration_line(info: RunInfo) -> str:
    """Return the calibration state with its reason, on one line."""
    return f"{'Calibrated' if info.calibrated else 'NOT CALIBRATED'}: {info.calibration_why}"


def incomplete_line(info: RunInfo) -> str | None:
    """Return the warning of a run that did not come to its end, or None."""
    if info.complete:
        return None
    return (
        "INCOMPLETE RUN: it was stopped before its end, so the figures cover only "
        f"what was judged until then. {numbers.count(info.selected)} items were selected."
    )


def input_quality(info: RunInfo, summary: PremiseSummary | None) -> list[str]:
    """Return what the input was like, apart from the deriver's failures (1.3)."""
    lines = []
    if summary is not None:
        lines.append(
            f"Anchored to a bad timestamp: {numbers.rate_text(summary.bad_timestamp_rate)}"
        )
    skipped = Counter(record.kind for report in info.imports for record in report.skipped)
    if skipped:
        number = numbers.counted(skipped.total(), "skipped record")
        lines.append(f"{number} of the trace ({numbers.counts_text(skipped)}).")
    return lines

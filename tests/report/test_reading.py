from collections.abc import Callable

import pytest

from evals.premise.metrics import premise_summary
from evals.premise.row import ConclusionRow
from evals.records import Unjudged
from evals.report import reading
from evals.runs.record import RunInfo
from evals.traces import ImportReport, SkippedRecord

MakeRow = Callable[..., ConclusionRow]
MakeInfo = Callable[..., RunInfo]


def failing(make_row: MakeRow, **attributions: int) -> list[ConclusionRow]:
    return [
        make_row(slots=[("TIME", attribution, "x")])
        for attribution, number in attributions.items()
        for _ in range(number)
    ]


@pytest.mark.parametrize(
    ("leading", "advice"),
    [
        ("PRESENT_IN_WINDOW", "prompt work"),
        ("ABSENT_FROM_WINDOW", "needs retrieval or prior conclusions"),
        ("ABSENT_EVERYWHERE", "hedge or stay silent"),
    ],
)
def test_the_reading_names_what_can_fix_most_slots(
    make_row: MakeRow, leading: str, advice: str
) -> None:
    other = "ABSENT_EVERYWHERE" if leading != "ABSENT_EVERYWHERE" else "PRESENT_IN_WINDOW"
    rows = failing(make_row, **{leading: 3, other: 1})
    said = reading.attribution_reading(premise_summary(rows))
    assert said.startswith(f"Most of the open slots, 3 of 4 (75.0 %), are {leading}.")
    assert advice in said


def test_a_plurality_is_not_called_most(make_row: MakeRow) -> None:
    rows = failing(make_row, PRESENT_IN_WINDOW=2, ABSENT_FROM_WINDOW=1, ABSENT_EVERYWHERE=1)
    said = reading.attribution_reading(premise_summary(rows))
    assert said.startswith("The largest part of the open slots, 2 of 4")


def test_a_tie_decides_nothing(make_row: MakeRow) -> None:
    rows = failing(make_row, PRESENT_IN_WINDOW=2, ABSENT_FROM_WINDOW=2)
    assert "does not decide" in reading.attribution_reading(premise_summary(rows))


def test_failures_without_an_open_slot_are_told_apart(make_row: MakeRow) -> None:
    wrong = make_row(unsupported=[("Porto", "FABRICATION", "never said")])
    only = premise_summary([wrong])
    assert "no open slot" in reading.attribution_reading(only)
    mixed = premise_summary([wrong, *failing(make_row, PRESENT_IN_WINDOW=1)])
    assert reading.attribution_limits(mixed)[0].startswith("1 of 2 (50.0 %) failed conclusions")


def unrepeated(make_row: MakeRow, slots: list[tuple[str, str, str]]) -> ConclusionRow:
    """Return a failed row whose pass 2 repeats none of pass 1's open slots."""
    return make_row(slots=slots).model_copy(update={"missing": (), "attribution_scope": None})


def test_an_open_slot_without_attribution_is_not_called_none(make_row: MakeRow) -> None:
    row = unrepeated(
        make_row, [("TIME", "PRESENT_IN_WINDOW", ""), ("WHO", "ABSENT_EVERYWHERE", "")]
    )
    summary = premise_summary([row])
    said = reading.attribution_reading(summary)
    assert said.startswith("1 failed conclusion, and no open slot that pass 2 attributes")
    assert "they fail for what they say" not in said
    [note] = reading.attribution_limits(summary)
    assert note == (
        "2 open slots of the blind reader without attribution, outside the split: pass 2 does not "
        "list them as missing."
    )


def test_failures_that_say_too_much_are_told_from_those_without_attribution(
    make_row: MakeRow,
) -> None:
    wrong = make_row(unsupported=[("Porto", "FABRICATION", "never said")])
    open_slot = unrepeated(make_row, [("TIME", "PRESENT_IN_WINDOW", "")])
    none, one = reading.attribution_limits(premise_summary([wrong, open_slot]))
    assert none.startswith("1 of 2 (50.0 %) failed conclusions leave no slot open")
    assert one.startswith("1 open slot of the blind reader")


def test_the_split_is_told_by_conclusion_too(make_row: MakeRow) -> None:
    assert reading.attribution_by_conclusion(premise_summary([make_row()])) is None
    rows = failing(make_row, PRESENT_IN_WINDOW=2)
    said = reading.attribution_by_conclusion(premise_summary(rows))
    assert said == "By conclusion, 2 failed: PRESENT_IN_WINDOW only 2."
    two = make_row(slots=[("TIME", "PRESENT_IN_WINDOW", ""), ("WHO", "ABSENT_EVERYWHERE", "")])
    said = reading.attribution_by_conclusion(premise_summary([*rows, two]))
    assert said == (
        "By conclusion, 3 failed: PRESENT_IN_WINDOW only 2, mixed 1 "
        "(mixed: open slots of several attributions)."
    )


def test_no_failure_is_said_so(make_row: MakeRow) -> None:
    assert "No conclusion failed" in reading.attribution_reading(premise_summary([make_row()]))


def test_unjudged_rows_are_not_read_as_failures(make_row: MakeRow) -> None:
    row = make_row(unjudged=Unjudged(reason="timeout", detail="late"))
    assert "No conclusion failed" in reading.attribution_reading(premise_summary([row]))


def test_a_window_scope_is_confessed_and_a_searched_one_is_not(make_row: MakeRow) -> None:
    slot = [("TIME", "ABSENT_FROM_WINDOW", "x")]
    window, searched = make_row(slots=slot), make_row(slots=slot, attribution_scope="conversation")
    notes = reading.attribution_limits(premise_summary([window, searched]))
    [note] = notes
    assert note == (
        "For 1 of 2 (50.0 %) conclusions with something missing, only the window was searched: "
        "there, absent is pass 2's reading and was not checked against the earlier conversation."
    )
    assert reading.attribution_limits(premise_summary([searched])) == []


def test_a_search_that_failed_is_not_a_window_that_was_searched_alone(make_row: MakeRow) -> None:
    slot = [("TIME", "ABSENT_FROM_WINDOW", "x")]
    unanswered = [
        make_row(slots=slot, attribution_unjudged=Unjudged(reason=reason, detail=""))
        for reason in ("timeout", "timeout", "refused")
    ]
    [note] = reading.attribution_limits(premise_summary(unanswered))
    assert note == (
        "For 3 of 3 (100.0 %) conclusions with something missing, the search of the earlier "
        "conversation gave no usable answer (timeout 2, refused 1): there, absent is pass 2's "
        "reading, unchecked."
    )
    rows = [*unanswered, make_row(slots=slot)]
    alone, failed = reading.attribution_limits(premise_summary(rows))
    assert alone.startswith("For 1 of 4 (25.0 %) conclusions with something missing, only the")
    assert failed.startswith("For 3 of 4 (75.0 %) conclusions with something missing, the search")


def test_what_has_no_judgement_is_named_where_there_is_any(make_row: MakeRow) -> None:
    late = Unjudged(reason="timeout", detail="late")
    assert reading.unjudged_parts(premise_summary([make_row()])) == []
    rows = [make_row(unjudged=late), make_row(minimality=None, minimality_unjudged=late)]
    assert reading.unjudged_parts(premise_summary(rows)) == [
        ("verdict", "timeout 1"),
        ("minimality", "timeout 1"),
    ]


def test_calibration_state_carries_its_reason(make_info: MakeInfo) -> None:
    assert reading.calibration_line(make_info()).startswith("Calibrated: all specimens met")
    state = make_info(calibrated=False, calibration_why="no stamp for judge-1")
    assert reading.calibration_line(state) == "NOT CALIBRATED: no stamp for judge-1"


def test_only_an_incomplete_run_is_called_so(make_info: MakeInfo) -> None:
    assert reading.incomplete_line(make_info()) is None
    line = reading.incomplete_line(make_info(complete=False, ended_at=None, selected=1200))
    assert line is not None
    assert "INCOMPLETE" in line
    assert "1,200 items" in line


def test_input_quality_counts_bad_timestamps_and_skipped_records(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    skipped = tuple(
        SkippedRecord(where=f"t.jsonl:{line}", kind=kind, why="x")
        for line, kind in enumerate(["bad", "other_call", "bad"], 1)
    )
    report = ImportReport(
        path="t.jsonl", trace_format="honcho", records_read=5, windows=2, conclusions=3,
        skipped=skipped,
    )  # fmt: skip
    rows = [make_row(time_status="ANCHORED_TO_BAD_TIMESTAMP"), make_row()]
    bad_times, records = reading.input_quality(make_info(imports=(report,)), premise_summary(rows))
    assert "50.0 % (1/2)" in bad_times
    assert records == "3 skipped records of the trace (bad 2, other_call 1)."


def test_a_trace_without_skipped_records_is_passed_over(
    make_info: MakeInfo, make_row: MakeRow
) -> None:
    [line] = reading.input_quality(make_info(), premise_summary([make_row()]))
    assert line.startswith("Anchored to a bad timestamp")
    assert reading.input_quality(make_info(), None) == []

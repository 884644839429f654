"""What a user hears of batches at the end of a run: what goes on, and what was odd."""

from evals.judging.batch.status import RoundStatus
from evals.judging.batch.wire import NO_COUNTS
from evals.plugin.batch_lines import batch_lines, under_way_lines


def status(*batch_ids: str, notes: tuple[str, ...] = ()) -> RoundStatus:
    return RoundStatus(2, 1204 * len(batch_ids), batch_ids, NO_COUNTS, notes)


def test_a_run_without_trouble_says_nothing() -> None:
    assert batch_lines(None) == batch_lines(status()) == []


def test_what_goes_on_is_named() -> None:
    [line] = batch_lines(status("msgbatch_1", "msgbatch_2"))
    assert line.startswith("2 batches go on at the server with 2,408 requests: msgbatch_1, msg")
    assert "same command" in line
    [line] = batch_lines(status("msgbatch_1"))
    assert line.startswith("1 batch goes on at the server with 1,204 requests: msgbatch_1.")


def test_of_many_only_some_are_named() -> None:
    lines = batch_lines(
        status(*(f"b{number}" for number in range(30)), notes=tuple(map(str, range(25))))
    )
    assert lines[:20] == [str(number) for number in range(20)]
    assert lines[20] == "and 5 notes more"
    assert "b19, …. Nothing" in lines[21]
    assert "b20" not in lines[21]


def test_a_run_that_would_pay_again_for_what_is_in_batches_is_told_before() -> None:
    told = under_way_lines(1204, "live", plan=False)
    assert all(len(line) <= 80 for line in told)
    assert "1,204 requests are in Message Batches that go on" in " ".join(told)
    assert "any other run pays again" in " ".join(told)
    assert "pays again" in " ".join(under_way_lines(1, "live", plan=True))
    assert "the plan counts those" in " ".join(under_way_lines(1, "batch", plan=True))


def test_a_run_that_takes_batches_up_or_pays_nothing_is_told_nothing() -> None:
    assert under_way_lines(0, "live", plan=False) == []
    assert under_way_lines(5, "batch", plan=False) == []
    assert under_way_lines(5, "recorded", plan=False) == []

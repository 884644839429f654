"""What a user hears of batches at the end of a run: what goes on, and what was odd."""

from evals.judging.batch.status import RoundStatus
from evals.judging.batch.wire import NO_COUNTS
from evals.plugin.batch_lines import batch_lines


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

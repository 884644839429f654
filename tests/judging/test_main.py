import json
from pathlib import Path

import pytest

from evals.judging.__main__ import main
from evals.judging.export import export_requests
from evals.judging.store import AnswerStore, StoredAnswer
from tests.judging.helpers import MODEL, message_for, request_for

A, B = request_for("alice"), request_for("bob")
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    export_requests([A, B], tmp_path / "export", as_text=False)
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / f"{A.request_hash}.json").write_text('{"a": 1}')
    return tmp_path


def importing(folder: Path, *more: str) -> int:
    into = ["--into", str(folder / "s.sqlite")]
    return main(["import", "--requests", str(folder / "export"), *into, *more])


def test_import_writes_answers_and_says_what_is_missing(folder: Path, capsys: Captured) -> None:
    assert importing(folder, "--answers", str(folder / "answers"), "--served-model", MODEL) == 0
    out = capsys.readouterr().out
    assert "1 answers written" in out
    assert f"1 missing:\n  {B.request_hash}" in out


def test_import_of_results_counts_failures(folder: Path, capsys: Captured) -> None:
    line = {"custom_id": A.request_hash, "result": {"type": "expired"}}
    (folder / "results.jsonl").write_text(json.dumps(line))
    assert importing(folder, "--results", str(folder / "results.jsonl")) == 0
    assert "1 expired: not stored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (["--answers", "answers"], "--served-model"),
        (["--answers", "answers", "--served-model", ""], "--served-model"),
        (["--answers", "answers", "--served-model", "other"], "'other' and not by"),
        (["--answers", "nowhere", "--served-model", MODEL], "nowhere"),
        (["--results", "results.jsonl", "--served-model", MODEL], "--results FILE alone"),
        (["--results", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_a_refusal_is_one_message_and_exit_code_2(
    folder: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    more: list[str],
    found: str,
) -> None:
    monkeypatch.chdir(folder)
    assert importing(folder, *more) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert found in captured.err


def showing(folder: Path, request_hash: str) -> int:
    places = ["--store", str(folder / "s.sqlite"), "--recordings", str(folder / "recordings")]
    return main(["show", request_hash, *places])


def keep(folder: Path, *answers: StoredAnswer) -> None:
    store = AnswerStore(folder / "s.sqlite")
    store.put_all(answers)
    store.close()


def test_show_prints_a_stored_answer_with_nothing_that_a_terminal_obeys(
    tmp_path: Path, capsys: Captured
) -> None:
    text = "first\x1b[31m line\nsecond \u202e line"
    keep(tmp_path, StoredAnswer("abc1", message_for(text), MODEL, MODEL, None))
    assert showing(tmp_path, "abc1") == 0
    out = capsys.readouterr().out
    assert "request        abc1\n" in out
    assert f"model served   {MODEL}\n" in out
    assert "received       unknown\n" in out
    assert "tokens         7 in, 3 out\n" in out
    assert "first�[31m line\nsecond � line\n" in out


def test_show_finds_a_recording_by_the_beginning_of_its_hash(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "recordings").mkdir()
    message = json.loads(message_for("recorded", usage=None, stop_reason=None))
    line = {"custom_id": "abc1", "result": {"type": "succeeded", "message": message}}
    (tmp_path / "recordings" / "r.jsonl").write_text(json.dumps(line))
    assert showing(tmp_path, "ab") == 0
    out = capsys.readouterr().out
    assert "recorded\n" in out
    assert "tokens         unknown\n" in out
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.parametrize(("beginning", "found"), [("abc", "2 answers"), ("x", "0 answers")])
def test_show_wants_exactly_one_answer(
    tmp_path: Path, capsys: Captured, beginning: str, found: str
) -> None:
    message = message_for("x")
    keep(tmp_path, *(StoredAnswer(key, message, MODEL, MODEL, None) for key in ("abc1", "abc2")))
    assert showing(tmp_path, beginning) == 2
    assert found in capsys.readouterr().err

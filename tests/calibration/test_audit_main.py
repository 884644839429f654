"""``python -m calibration audit-gold``: from a run to a sheet, and from its marks to gold."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from calibration.__main__ import main
from evals.coverage.audited import audited_gold
from tests.calibration.audit_windows import mark, row_of, window, write

WINDOWS = [window(f"w{n}", [f"at the bakery {n}", "my sister Odile"]) for n in range(3)]


@dataclass
class Audit:
    """A run of three windows with gold, and a place for its sheet."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def sheet(self) -> Path:
        return self.folder / "sheet.yaml"

    @property
    def gold_dir(self) -> Path:
        return self.folder / "gold"

    def write(self, *more: str) -> tuple[int, str, str]:
        return self._run("write", "--run", str(self.folder), "--into", str(self.sheet), *more)

    def read(self, *more: str) -> tuple[int, str, str]:
        return self._run("read", str(self.sheet), "--gold-dir", str(self.gold_dir), *more)

    def mark(self, *verdicts: str | None, missing: Any = ()) -> None:
        write(self.sheet, mark(self.content, *verdicts, missing=missing))

    @property
    def content(self) -> Any:
        return yaml.safe_load(self.sheet.read_text(encoding="utf-8"))

    def _run(self, *arguments: str) -> tuple[int, str, str]:
        code = main(["audit-gold", *arguments])
        said = self.capture.readouterr()
        return code, said.out, said.err


@pytest.fixture
def audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Audit:
    run = SimpleNamespace(
        info=SimpleNamespace(run_id="run-1", judge_model="judge-1"),
        rows=[row_of(one) for one in WINDOWS],
        windows={one.window_id: one for one in WINDOWS},
    )
    monkeypatch.setattr("calibration.__main__.load_run", {tmp_path: run}.__getitem__)
    return Audit(tmp_path, capsys)


def test_a_sheet_is_written_once_and_never_over_marks(audit: Audit) -> None:
    code, out, _ = audit.write("--windows", "2")
    assert code == 0
    assert out.splitlines()[0] == f"6 gold facts of 2 of 3 windows written to {audit.sheet}"
    assert len(audit.content["windows"]) == 2
    assert audit.sheet.stat().st_mode & 0o777 == 0o600
    before = audit.sheet.read_bytes()
    code, _, err = audit.write()
    assert (code, audit.sheet.read_bytes()) == (2, before)
    assert err.startswith(f"error: {audit.sheet}: found [Errno 17] File exists")


def test_marks_become_precision_gold_and_examples(audit: Audit) -> None:
    audit.write("--windows", "2")
    audit.mark("right", "wrong", "right")
    code, out, _ = audit.read()
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("gold precision   66.7 % (2/3, 95 % 20.8")
    assert lines[1] == "marks            right 2, fix 0, wrong 1, unmarked 3"
    assert lines[2] == "left out         0 facts that the judge did not find"
    assert lines[3] == f"corrected gold   1 finished window, written to {audit.gold_dir}"
    unmarked = audit.content["windows"][1]["window_id"]
    assert lines[5] == (
        f"unfinished       window {unmarked}: mark g1, g2, g3; say what is missing ([] if nothing)"
    )
    (path,) = audit.gold_dir.iterdir()
    found = audited_gold(path.stem, audit.gold_dir, ["vince"])
    assert found is not None
    assert [fact.fact for fact in found] == [
        "vince starts at the bakery on 2026-06-08",
        "fact g3 of vince",
    ]
    examples = audit.sheet.with_name("sheet.examples.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["verdict"] for line in examples] == ["pass", "fail", "pass"]


def test_reading_twice_is_the_same_and_other_marks_need_replace(audit: Audit) -> None:
    audit.write("--windows", "1")
    audit.mark("right", "wrong", "right")
    first = audit.read()
    assert audit.read() == first
    (path,) = audit.gold_dir.iterdir()
    before = path.read_bytes()
    audit.mark("right", "right", "right")
    code, out, err = audit.read()
    assert (code, out, path.read_bytes()) == (2, "", before)
    assert "--replace" in err
    assert audit.read("--replace")[0] == 0
    assert path.read_bytes() != before


def test_a_conflict_in_the_last_window_keeps_every_file_as_it_was(audit: Audit) -> None:
    audit.write("--windows", "3")

    def mark_last(parts: int, verdict: str) -> None:
        content = audit.content
        for part in content["windows"][-parts:]:
            part["missing"] = []
            for fact in part["facts"]:
                fact["verdict"] = verdict
        write(audit.sheet, content)

    mark_last(1, "right")
    assert audit.read()[0] == 0
    (path,) = audit.gold_dir.iterdir()
    before = path.read_bytes()
    mark_last(3, "wrong")
    assert audit.read()[0] == 2
    assert [one.read_bytes() for one in audit.gold_dir.iterdir()] == [before]


def test_a_sheet_that_is_wrong_is_refused_and_nothing_written(audit: Audit) -> None:
    audit.write()
    audit.mark("right", "maybe", "right")
    code, out, err = audit.read()
    assert (code, out) == (2, "")
    assert "fact g2, key verdict: found 'maybe'; wanted" in err
    assert not audit.gold_dir.exists()


@pytest.mark.parametrize("count", ["0", "-1", "many", "1.5", "9" * 5000, ""])
def test_a_sheet_of_no_window_is_wrong_usage(audit: Audit, count: str) -> None:
    with pytest.raises(SystemExit) as caught:
        audit.write("--windows", count)
    assert caught.value.code == 2
    said = audit.capture.readouterr().err
    assert f"argument --windows: found '{count[:30]}" in said
    assert "wanted a whole number from 1" in said
    assert not audit.sheet.exists()


def test_a_place_that_cannot_be_written_is_named(audit: Audit) -> None:
    audit.write("--windows", "1")
    audit.mark("right", "right", "right")
    audit.gold_dir.write_text("a file", encoding="utf-8")
    code, _, err = audit.read()
    assert code == 2
    assert str(audit.gold_dir) in err

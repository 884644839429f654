"""Cases: one a window that has somebody to ask about, with ids that are safe everywhere."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evals.coverage.audited import AuditedGold
from evals.coverage.case import AUDITED_GOLD_DIR, coverage_cases, peers_of
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.schema import GoldItem
from evals.errors import CalibrationError, TraceError
from evals.records import Window

MakeWindow = Callable[..., Window]


def test_one_case_a_window_with_or_without_conclusions(
    make_window: MakeWindow, prompts: CoveragePrompts
) -> None:
    windows = [
        make_window(window_id="first"),
        make_window(window_id="bare", conclusions=[]),
        make_window(window_id="nobody", conclusions=[], peer_id=None),
    ]
    cases = coverage_cases(iter(windows), prompts)
    assert [case.case_id for case in cases] == ["first", "bare"]
    assert [case.window.window_id for case in cases] == ["first", "bare"]
    assert cases[0].prompts is prompts


@pytest.mark.parametrize(
    ("peer_id", "conclusions", "peers"),
    [
        ("vince", ["vince rows"], ("vince",)),
        ("vince", [], ("vince",)),
        ("vince", [("may", "may rows"), "vince rows"], ("vince", "may")),
        (None, [("may", "may rows"), ("vince", "vince rows"), ("may", "a")], ("may", "vince")),
        (None, [], ()),
    ],
)
def test_whom_a_window_is_judged_about(
    make_window: MakeWindow, peer_id: str | None, conclusions: list[str], peers: tuple[str, ...]
) -> None:
    messages = [("vince", "hello"), ("may", "hi"), ("assistant", "How can I help?")]
    window = make_window(messages, conclusions, peer_id=peer_id)
    assert peers_of(window) == peers


@pytest.mark.parametrize(
    "window_id", ["../../etc/passwd", "w \u2603\x1b[31m", "窓", "", "a" * 300, "x[y]::z", "\ud800"]
)
def test_an_id_is_safe_whatever_the_window_is_called(
    make_window: MakeWindow, prompts: CoveragePrompts, window_id: str
) -> None:
    (case,) = coverage_cases([make_window(window_id=window_id, conclusions=[])], prompts)
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,49}", case.case_id)
    assert not case.case_id.startswith(".")


def test_windows_whose_slugs_are_equal_keep_distinct_ids(
    make_window: MakeWindow, prompts: CoveragePrompts
) -> None:
    windows = [make_window(window_id=name) for name in ("a-b", "a b", "a/b", "-a-b")]
    ids = [case.case_id for case in coverage_cases(windows, prompts)]
    assert ids[0] == "a-b"
    assert len(set(ids)) == 4


def test_the_same_window_twice_is_refused(
    make_window: MakeWindow, prompts: CoveragePrompts
) -> None:
    with pytest.raises(TraceError, match="2 windows with this id") as caught:
        coverage_cases([make_window(), make_window()], prompts)
    assert caught.value.where == "case w1"


def test_gold_that_a_person_corrected_is_read_by_the_window_s_text(
    make_window: MakeWindow, prompts: CoveragePrompts, tmp_path: Path
) -> None:
    window, other = make_window(), make_window(["else"], window_id="w2")
    item = GoldItem(
        peer_id="vince",
        fact="vince bakes",
        category="WORK",
        importance="MINOR",
        requires_inference=False,
        source_span="bakery",
        licensed_inference="vince owns an oven",
    )
    audited = AuditedGold(
        format="audited-gold",
        version=1,
        window_text_hash=window.window_text_hash,
        peers=("vince",),
        facts=(item,),
    )
    path = tmp_path / f"{window.window_text_hash}.json"
    path.write_text(audited.model_dump_json(), encoding="utf-8")
    cases = coverage_cases([window, other], prompts, tmp_path)
    assert [case.audited for case in cases] == [(item,), None]


def test_a_broken_file_of_corrected_gold_stops_the_run_before_it_starts(
    make_window: MakeWindow, prompts: CoveragePrompts, tmp_path: Path
) -> None:
    window = make_window()
    (tmp_path / f"{window.window_text_hash}.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CalibrationError):
        coverage_cases([window], prompts, tmp_path)


def test_corrected_gold_lies_in_the_calibration_folder() -> None:
    assert AUDITED_GOLD_DIR.parts[-2:] == ("calibration", "gold")

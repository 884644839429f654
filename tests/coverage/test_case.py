"""Cases: one a window that has somebody to ask about, with ids that are safe everywhere."""

import asyncio
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evals.coverage.audited import AuditedGold
from evals.coverage.case import AUDITED_GOLD_DIR, coverage_cases, peers_by_conversation, peers_of
from evals.coverage.metrics import coverage_summary
from evals.coverage.prompts import CoveragePrompts
from evals.coverage.schema import GoldItem
from evals.errors import CalibrationError, RefusedError, TraceError
from evals.judging.case import RunContext
from evals.judging.request import JudgeRequest
from evals.policy import CoveragePolicy
from evals.records import Window
from tests.coverage.helpers import Reply, ScriptedJudge, inside

MakeWindow = Callable[..., Window]


def test_one_case_a_window_with_or_without_conclusions(
    make_window: MakeWindow, prompts: CoveragePrompts
) -> None:
    windows = [
        make_window(window_id="first"),
        make_window(window_id="bare", conclusions=[]),
        make_window(window_id="nobody", conclusions=[], peer_id=None).model_copy(
            update={"conversation_id": "talk-2"}
        ),
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


def test_without_a_deriver_s_peer_the_whole_conversation_says_whom_a_window_is_about(
    make_window: MakeWindow, prompts: CoveragePrompts
) -> None:
    def window(name: str, talk: str | None, *told: str, peer_id: str | None = None) -> Window:
        made = make_window(["hello"], [(peer, "rows") for peer in told], window_id=name)
        return made.model_copy(update={"conversation_id": talk, "peer_id": peer_id})

    windows = [
        window("both", "t1", "may", "bob"),
        window("silent", "t1"),
        window("one", "t1", "may"),
        window("elsewhere", "t2", "kim"),
        window("loose", None, "zoe"),
        window("loose-silent", None),
        window("loose-named", None, "ann", peer_id="ann"),
    ]
    assert {case.case_id: case.peers for case in coverage_cases(windows, prompts)} == {
        "both": ("bob", "may"),
        "silent": ("bob", "may"),
        "one": ("bob", "may"),
        "elsewhere": ("kim",),
        "loose": ("zoe",),
        "loose-silent": ("zoe",),
        "loose-named": ("ann",),
    }
    assert peers_of(windows[2], peers_by_conversation(windows)) == ("bob", "may")


def test_windows_without_anybody_to_ask_about_are_logged(
    make_window: MakeWindow, prompts: CoveragePrompts, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert coverage_cases([make_window(conclusions=[], peer_id=None)], prompts) == ()
    assert "1 windows without a peer" in caplog.text


SPOKEN = (("bob", "I bake bread every day"), ("may", "I row on the lake"))


def charitable(request: JudgeRequest) -> Reply:
    """Cover each peer's gold by the conclusions about that peer."""
    told = inside(request, "conclusions")
    matches = []
    for fact in inside(request, "gold_facts"):
        found = [one["conclusion_id"] for one in told if one["peer_id"] == fact["peer_id"]]
        status = "COVERED" if found else "MISSING"
        matches.append(
            {"gold_id": fact["gold_id"], "status": status, "covering": found, "why": "w"}
        )
    return {"matches": matches}


def gold_of_peers(request: JudgeRequest) -> Reply:
    facts = {"bob": "bob bakes bread", "may": "may rows"}
    spans = {"bob": "I bake bread", "may": "I row on the lake"}
    return {
        "facts": [
            {
                "peer_id": peer,
                "fact": facts[peer],
                "category": "HOBBY",
                "importance": "IMPORTANT",
                "requires_inference": False,
                "source_span": spans[peer],
                "licensed_inference": f"{peer} has a hobby",
            }
            for peer in inside(request, "peers")
        ]
    }


@pytest.mark.parametrize("kept", [(), ("bob",), ("may",)])
def test_dropping_conclusions_never_raises_coverage(
    make_window: MakeWindow, prompts: CoveragePrompts, context: RunContext, kept: tuple[str, ...]
) -> None:
    other = make_window(
        SPOKEN, [("bob", "bob bakes"), ("may", "may rows")], peer_id=None, window_id="other"
    )

    def coverage(peers: tuple[str, ...]) -> float:
        window = make_window(SPOKEN, [(peer, f"about {peer}") for peer in peers], peer_id=None)
        judge = ScriptedJudge(
            {
                "gold": gold_of_peers,
                "matching": charitable,
                "question_generation": {"questions": []},
                "topics": RefusedError("answer", "a refusal", "a judgement", "Look at it."),
            }
        )
        cases = coverage_cases([window, other], prompts)
        row = asyncio.run(cases[0].evaluate(judge, context))
        value = coverage_summary([row], CoveragePolicy()).coverage_explicit.value
        assert value is not None
        return value

    assert coverage(("bob", "may")) == 1
    assert coverage(kept) == len(kept) / 2


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


@pytest.mark.parametrize("name", ["assistant", "Assistant", "AI"])
def test_nothing_is_asked_about_an_assistant(
    name: str, make_window: Callable[..., Window], prompts: CoveragePrompts
) -> None:
    window = make_window(peer_id=name, conclusions=[])
    assert peers_of(window) == ()
    assert coverage_cases([window], prompts) == ()

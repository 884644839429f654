"""Whole runs on a terminal and in a log: progress is seen, and pytest's output is as without it."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import Evaluations, MakeTrace
from tests.plugin.terminals import Emulator, Watched, watch

PREMISE = "evals/premise"
LINE = re.compile(r"judged \d+/\d+(, \S.*)?")
OURS = re.compile(rb"\x1b\[J(?:\x1bD\x1b\[A\x1b7\x1b\[B\r[^\x1b]*\x1b8)?")

NOISE = """\
import logging
import sys


def pytest_runtest_setup(item):
    print("printed by", item.name)
    print("to stderr", file=sys.stderr)
    logging.getLogger("test").warning("logged")


def pytest_runtest_teardown():
    print("without an end", end="")
"""
SHORT_INTERVAL = """\
def pytest_configure():
    from evals.plugin import live_line, progress_hooks

    progress_hooks.PLAIN_EVERY_S = 0.3
    live_line.PlainLines.every_s = 0.1
"""
NO_LIVE_LINE = """\
def pytest_configure():
    from evals.plugin.live_line import LiveLine

    LiveLine.FROM_S = float("inf")
"""

WatchRun = Callable[..., Watched]


def plugin(evaluations: Evaluations, name: str, text: str) -> list[str]:
    """Write a plugin where the run finds it; the arguments that load it."""
    (evaluations.folder / f"{name}.py").write_text(text, encoding="utf-8")
    return ["-p", name]


@pytest.fixture
def watch_run(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> WatchRun:
    """Watch 30 conclusions being judged four at a time: some three seconds."""
    trace = str(make_trace(5, 6))

    def run(*arguments: str, own: Evaluations = evaluations, **options: Any) -> Watched:
        messages_api.reset(latency_s=0.2)
        few = ["--max-in-flight", "4"]
        return watch(own, PREMISE, "--traces", trace, *few, *arguments, api=messages_api, **options)

    return run


def lines_seen(watched: Watched) -> set[str]:
    """Our lines in any state of the screen."""
    return {row for rows in watched.states() for row in rows if LINE.fullmatch(row)}


def without_ours(watched: Watched) -> Emulator:
    """The screen at the end, had nothing of ours been sent."""
    emulator = Emulator(watched.columns)
    emulator.feed(OURS.sub(b"", watched.sent))
    return emulator


def settled(rows: list[str]) -> list[str]:
    """The rows without what differs from run to run."""
    text = re.sub(r"=+ (.*) in [\d.]+s =+", r"= \1 =", "\n".join(rows))
    return re.sub(r"/(first|other)/", "/folder/", text).split("\n")


@pytest.mark.parametrize("arguments", [[], ["-v"]], ids=["dots", "verbose"])
def test_the_screen_after_a_run_is_the_one_without_a_live_line(
    arguments: list[str], watch_run: WatchRun, tmp_path: Path
) -> None:
    folders = [tmp_path / "first", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    first, other = map(Evaluations, folders)
    shown = watch_run(*arguments, own=first)
    hidden = watch_run(*arguments, *plugin(other, "no_live_line", NO_LIVE_LINE), own=other)
    assert shown.code == hidden.code == 0
    assert not lines_seen(hidden)
    seen = lines_seen(shown)
    assert len(seen) > 3
    assert any("in flight" in line for line in seen)
    assert any(line.endswith(" left") for line in seen)
    assert settled(shown.at_the_end.everything) == settled(hidden.at_the_end.everything)
    assert settled(shown.at_the_end.rows) == settled(hidden.at_the_end.rows)
    assert shown.at_the_end.cursor == hidden.at_the_end.cursor


@pytest.mark.parametrize(
    "arguments",
    [
        ["-n", "2", "-v"],
        ["-s", "-v", "-p", "noise"],
        ["--capture=tee-sys", "-p", "noise"],
        ["-v", "-o", "log_cli=true", "-p", "noise"],
    ],
    ids=" ".join,
)
def test_nothing_is_left_of_the_line_whoever_writes(
    arguments: list[str], watch_run: WatchRun, evaluations: Evaluations
) -> None:
    plugin(evaluations, "noise", NOISE)
    run = watch_run(*arguments)
    assert run.code == 0
    assert lines_seen(run)
    assert run.at_the_end.everything == without_ours(run).everything
    assert run.at_the_end.cursor == without_ours(run).cursor
    assert b"in flight" not in OURS.sub(b"", run.sent)


def test_a_narrow_terminal_has_a_short_line(watch_run: WatchRun) -> None:
    run = watch_run(columns=40)
    seen = lines_seen(run)
    assert seen
    assert max(map(len, seen)) < 40
    assert run.at_the_end.everything == without_ours(run).everything


@pytest.mark.parametrize("arguments", [["-qq"], ["-p", "no:terminal"]])
def test_who_wants_it_quiet_or_without_escapes_sees_no_line(
    arguments: list[str], watch_run: WatchRun
) -> None:
    run = watch_run(*arguments)
    assert run.code == 0
    assert b"in flight" not in run.sent


def test_collecting_alone_shows_no_line(watch_run: WatchRun) -> None:
    run = watch_run("--collect-only", "-q")
    assert run.code == 0
    assert not OURS.search(run.sent)


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_ctrl_c_leaves_a_clean_screen(arguments: list[str], watch_run: WatchRun) -> None:
    pressed: list[bytes] = []

    def press(sent: bytes, keyboard: int) -> None:
        if b"in flight" in sent and not pressed:
            pressed.append(b"\x03")
            os.write(keyboard, b"\x03")

    run = watch_run(*arguments, on_output=press)
    assert pressed
    assert run.code == 2
    assert not any(LINE.search(row) for row in run.at_the_end.everything)
    assert any("KeyboardInterrupt" in row for row in run.at_the_end.everything)


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["-s", "-v", "-p", "noise"]], ids=" ".join)
def test_a_log_gets_plain_lines_of_their_own(
    arguments: list[str],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    messages_api.reset("rate_limited:9-9", latency_s=0.2, headers={"429/retry-after": "2"})
    plugin(evaluations, "noise", NOISE)
    own = [*plugin(evaluations, "short_interval", SHORT_INTERVAL), "--max-in-flight", "4"]
    trace = str(make_trace(5, 6))
    run = evaluations.run(PREMISE, "--traces", trace, *own, *arguments, api=messages_api)
    assert run.code == 0, run.output
    assert "\x1b" not in run.output
    lines = run.output.split("\n")
    ours = [line for line in lines if "in flight" in line]
    assert len(ours) > 3
    held = r"(held [12] s \(server asked\), )?"
    form = re.compile(rf"[\d.]+ s: judged \d+/30, {held}\d(/3)? in flight.*")
    found = [form.fullmatch(line) for line in ours]
    assert all(found), ours
    assert any(line and line[1] for line in found), ours
    assert any(", 1 retry" in line for line in ours)
    if not arguments:
        start = next(n for n, line in enumerate(lines) if "test_premise.py" in line)
        rest = "\n".join(line for line in lines[start:] if "in flight" not in line)
        letters = re.sub(r"\s", "", rest.partition("[100%]")[0]).partition(".py")[2]
        assert len(letters) == 30
        assert set(letters) <= {".", "u"}


def test_a_short_run_puts_nothing_into_a_log(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    never = SHORT_INTERVAL.replace("0.3", "float('inf')")
    own = plugin(evaluations, "no_line", never)
    run = evaluations.run(PREMISE, "--traces", str(make_trace(1, 2)), *own, api=messages_api)
    assert run.code == 0, run.output
    assert "in flight" not in run.output

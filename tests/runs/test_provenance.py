import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from evals.judging.case import RunContext
from evals.judging.provenance import provenance_in
from evals.judging.request import JudgeSettings
from evals.records import Window
from evals.runs import provenance
from evals.runs.provenance import GitState, git_state, new_run_id

UNKNOWN = GitState(commit=None, dirty=None)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one")
    (tmp_path / ".gitignore").write_text("ignored\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@needs_git
def test_a_clean_checkout_is_its_commit(checkout: Path) -> None:
    (checkout / "ignored").touch()
    commit = git(checkout, "rev-parse", "HEAD").strip()
    assert git_state(checkout) == GitState(commit=commit, dirty=False)


@needs_git
@pytest.mark.parametrize("name", ["file", "new file"])
def test_a_changed_or_a_new_file_makes_it_dirty(checkout: Path, name: str) -> None:
    (checkout / name).write_text("two")
    assert git_state(checkout).dirty is True
    assert git_state(checkout).commit is not None


@needs_git
def test_before_the_first_commit_there_is_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert git_state(tmp_path) == GitState(commit=None, dirty=False)


@needs_git
def test_outside_a_checkout_nothing_is_known(tmp_path: Path) -> None:
    assert git_state(tmp_path) == UNKNOWN


def test_without_git_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) == UNKNOWN


def test_a_folder_that_is_none_is_not_known(tmp_path: Path) -> None:
    assert git_state(tmp_path / "nowhere") == UNKNOWN


def test_a_git_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: str(script))
    monkeypatch.setattr(provenance, "GIT_TIMEOUT_S", 0.05)
    assert git_state(tmp_path) == UNKNOWN


def test_a_run_id_is_its_utc_time_and_four_hex_digits() -> None:
    now = datetime(2026, 11, 30, 16, 54, 32, tzinfo=timezone(timedelta(hours=2)))
    assert re.fullmatch(r"20261130-145432-[0-9a-f]{4}", new_run_id(now))


def test_run_ids_sort_by_time_and_differ_within_a_second() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert new_run_id(now) < new_run_id(now + timedelta(seconds=1))
    assert len({new_run_id(now) for _ in range(20)}) > 1


def test_a_row_says_with_which_repeat_it_was_judged(make_window: Callable[..., Window]) -> None:
    context = RunContext(
        run_id="run-1",
        bench_version="0.1.0",
        git_commit=None,
        git_dirty=None,
        settings=JudgeSettings("judge-1", "off", repeat=3),
        over_inference_fails=True,
    )
    assert provenance_in(context, make_window(), {}, ()).judge_repeat == 3

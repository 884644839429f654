"""Where a run comes from: the code's commit, and the run's own id (4.2)."""

import re
import secrets
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from evals.records import Record

GIT_TIMEOUT_S = 5.0
"""A checkout that git cannot describe in this time is one whose state is not known."""
_COMMIT = re.compile(r"# branch\.oid ([0-9a-f]{40,64})")


class GitState(Record):
    """The commit of the code, and whether the files differ from it."""

    commit: str | None
    """None without git, outside a checkout, or before the first commit."""
    dirty: bool | None
    """True with changed, added or untracked (not ignored) files under the folder asked about; None
    where git gives no answer."""


def git_state(root: Path) -> GitState:
    """Ask git once about the checkout that holds ``root``; never raises."""
    unknown = GitState(commit=None, dirty=None)
    git = shutil.which("git")
    if git is None:
        return unknown
    command = [
        git,
        "--no-optional-locks",  # the answer is read; no index is rewritten under another git
        "-c",
        "core.fsmonitor=false",  # asking must not start a program that the checkout names
        "status",
        "--porcelain=v2",
        "--branch",
        "--",
        ".",
    ]
    try:
        done = subprocess.run(  # noqa: S603  fixed arguments, no shell
            command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return unknown
    if done.returncode != 0:
        return unknown
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    commits = [match[1] for match in map(_COMMIT.fullmatch, lines) if match]
    return GitState(
        commit=commits[0] if commits else None,
        dirty=any(not line.startswith("#") for line in lines),
    )


def new_run_id(now: datetime) -> str:
    """Return a run id such as ``20261130-145432-1f3a``.

    Sorts by time (UTC); the last four hex digits are random, so that two runs of one second differ.

    Args:
        now: an aware time.
    """
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"

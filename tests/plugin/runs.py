"""Whole runs, as a user starts them: ``python -m pytest evals/premise …`` in its own process.

``from tests.plugin.runs import evaluations, make_trace`` in a conftest makes the fixtures known.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evals.traces import WindowLog
from tests.messages_api.fixtures import MessagesApi

ROOT = Path(__file__).parents[2]
KEY = "sk-ant-test-key-that-must-not-leak"
RUN_TIMEOUT_S = 300


@dataclass(frozen=True)
class Finished:
    """A run that has ended."""

    code: int
    output: str
    run_dir: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        text = (self.run_dir / "rows.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line]

    @property
    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.run_dir / "summary.json").read_text("utf-8"))
        return found

    @property
    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.run_dir / "run.json").read_text("utf-8"))
        return found


class Evaluations:
    """Starts runs whose store and reports lie in the test's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "answers.sqlite"
        self.reports = folder / "reports"
        self.before: tuple[str, ...] = ()
        """What the command is started with, as ``nice`` or ``setpriv``."""
        self._number = 0
        self._started: list[subprocess.Popen[str]] = []

    def command(self, *arguments: str, run_id: str) -> list[str]:
        own = ["--store", str(self.store), "--reports-dir", str(self.reports)]
        cache = ["-o", f"cache_dir={self.folder / 'cache'}"]
        pytest_itself = (sys.executable, "-m", "pytest")
        return [*self.before, *pytest_itself, *own, *cache, "--run-id", run_id, *arguments]

    def environment(self, api: MessagesApi | None) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "PYTEST"))}
        if api is not None:
            kept |= {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        return kept | {"COLUMNS": "80", "PYTHONPATH": str(self.folder)}

    def patch_judge(self, source: str) -> None:
        """Run ``source`` in the process that judges, before its first import, in runs to come.

        Plugins (``-p``) reach pytest's process alone.
        """
        (self.folder / "judge_patch.py").write_text(source, encoding="utf-8")
        (self.folder / "sitecustomize.py").write_text(
            "import sys\n"
            "if any('judge_process' in argument for argument in sys.orig_argv):\n"
            f"    sys.path.insert(0, {str(ROOT)!r})\n"
            "    import judge_patch\n",
            encoding="utf-8",
        )

    def start(
        self,
        *arguments: str,
        api: MessagesApi | None = None,
        cwd: Path = ROOT,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[subprocess.Popen[str], Path]:
        self._number += 1
        run_id = f"run-{self._number}"
        process = subprocess.Popen(
            self.command(*arguments, run_id=run_id),
            cwd=cwd,
            env=self.environment(api) | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._started.append(process)
        return process, self.reports / run_id

    def run(
        self,
        *arguments: str,
        api: MessagesApi | None = None,
        cwd: Path = ROOT,
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        process, run_dir = self.start(*arguments, api=api, cwd=cwd, environment=environment)
        return self.end(process, run_dir)

    def end(
        self, process: subprocess.Popen[str], run_dir: Path, within_s: float = RUN_TIMEOUT_S
    ) -> Finished:
        try:
            output, _ = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the run did not end; its output:\n{self._kill(process)}")
        return Finished(process.returncode, output, run_dir)

    def close(self) -> None:
        """Kill what a failed test has left."""
        for process in self._started:
            if process.poll() is None:
                self._kill(process)

    def _kill(self, process: subprocess.Popen[str]) -> str:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


@pytest.fixture
def evaluations(tmp_path: Path) -> Iterator[Evaluations]:
    runs = Evaluations(tmp_path)
    yield runs
    runs.close()


MakeTrace = Callable[..., Path]


def write_trace(
    path: Path, windows: int, conclusions: int, *, peer: str = "ana", extra: str = ""
) -> Path:
    """Write a trace of ``windows`` windows with ``conclusions`` conclusions each; its path."""
    log = WindowLog(path)
    at = datetime(2026, 6, 4, 12, tzinfo=UTC)
    for number in range(windows):
        told = f"In week {number} I planted {number + 3} trees behind the house.{extra}"
        log.write(
            peer_id=peer,
            messages=[
                {"message_id": "m1", "peer_id": peer, "text": told, "sent_at": at},
                {
                    "message_id": "m2",
                    "peer_id": "bo",
                    "text": "Well done!",
                    "sent_at": at + timedelta(minutes=1),
                },
            ],
            conclusions=[
                f"{peer} planted tree {item} of window {number} before 2026-06-04{extra}"
                for item in range(conclusions)
            ],
            deriver_prompt="List facts.",
            deriver_model_id="small-1",
            derived_at=at + timedelta(minutes=2),
            window_id=f"w{number:04d}",
        )
    return path


@pytest.fixture
def make_trace(tmp_path: Path) -> MakeTrace:
    """Write a trace into the test's folder; see ``write_trace``."""

    def make(windows: int, conclusions: int, *, peer: str = "ana", extra: str = "") -> Path:
        path = tmp_path / f"trace-{windows}-{conclusions}.jsonl"
        return write_trace(path, windows, conclusions, peer=peer, extra=extra)

    return make

"""The cases: what is run, and the floor below which no client can be."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.benchmarks.inputs import write_bodies, write_empty_cases, write_trace
from tests.benchmarks.measure import Cost, FailedRunError, cost_of
from tests.messages_api.fixtures import SERVER, MessagesApi

ROOT = Path(__file__).parents[2]
MAX_IN_FLIGHT = 64
CALLS_A_CONCLUSION = 2
"""Of the premise judge, without its minimality: one more a window, which stands in no floor."""


@dataclass(frozen=True)
class Subject:
    """One line of the table."""

    name: str
    floor_s: float | None
    """None where nothing is waited for."""
    run: Callable[[], Cost]


class Bench:
    """The local server, and a folder for what the runs leave."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; ``with`` starts the server."""
        self.folder = folder
        self._number = 0

    def __enter__(self) -> Self:
        """Start the server."""
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.api = MessagesApi(int(self._process.stdout.readline()))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait()

    def bare(self, conclusions: int, latency_s: float) -> Cost:
        """Run the bare SDK script."""
        self.api.reset(latency_s=latency_s)
        bodies = write_bodies(self.folder, conclusions)
        script = Path(__file__).with_name("bare.py")
        command = [sys.executable, str(script), str(bodies), self.api.url, str(MAX_IN_FLIGHT)]
        answered = f"{CALLS_A_CONCLUSION * conclusions} answered"
        return cost_of(command, self._environment(), ROOT, answered)

    def evaluation(self, conclusions: int, latency_s: float, *arguments: str) -> Cost:
        """Run the premise judge on a store of its own, live, with both report pages."""
        self.api.reset(latency_s=latency_s)
        store = self._next("store")
        cost = self._pytest(conclusions, store, *arguments)
        counts = self.api.counts()
        asked = counts["asked"]
        wanted = CALLS_A_CONCLUSION * conclusions
        if asked["reconstruction"] + asked["interpretation"] != wanted:
            raise FailedRunError(f"{counts['asked']} asked, {wanted} wanted")
        return cost

    def replay(self, conclusions: int) -> Cost:
        """Judge a stored run again, without a call; the first time the store is filled."""
        store = self.folder / f"replay-{conclusions}.sqlite"
        if not store.exists():
            self.api.reset()
            self._pytest(conclusions, store)
        return self._pytest(conclusions, store, "--judge", "recorded", "--judge-model", "bench")

    def batch(self, conclusions: int) -> Cost:
        """Run the premise judge through Message Batches that end at once."""
        self.api.reset()
        options = ("--judge", "batch", "--batch-poll-s", "0.1")
        return self._pytest(conclusions, self._next("store"), *options)

    def empty_cases(self, cases: int) -> Cost:
        """Run as many empty parametrized tests with pytest alone."""
        path = write_empty_cases(self.folder, cases)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        return cost_of(command, self._environment(), self.folder, f"{cases} passed")

    def _pytest(self, conclusions: int, store: Path, *arguments: str) -> Cost:
        trace = write_trace(self.folder, conclusions)
        command = [
            *(sys.executable, "-m", "pytest", "evals/premise", "-q", "--judge-model", "bench"),
            *("--traces", str(trace), "--store", str(store)),
            *("--reports-dir", str(self._next("reports")), "-o", f"cache_dir={self.folder}/cache"),
            *arguments,
        ]
        # A model without a price, on purpose: what is measured is not what it would cost.
        return cost_of(command, self._environment(), ROOT, "sound")

    def _next(self, name: str) -> Path:
        self._number += 1
        return self.folder / f"{name}-{self._number}"

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "PYTEST"))}
        return kept | {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": self.api.url}


def _floor_s(conclusions: int, latency_s: float) -> float:
    return CALLS_A_CONCLUSION * conclusions * latency_s / MAX_IN_FLIGHT


def _live(bench: Bench, conclusions: int, latency_s: float) -> Sequence[Subject]:
    floor_s = _floor_s(conclusions, latency_s)
    what = f"{conclusions:,} conclusions at {latency_s:g} s"
    return (
        Subject(f"{what}: bare script", floor_s, lambda: bench.bare(conclusions, latency_s)),
        Subject(
            f"{what}: `pytest evals/premise`",
            floor_s,
            lambda: bench.evaluation(conclusions, latency_s),
        ),
    )


def _replayed(bench: Bench) -> Sequence[Subject]:
    return (
        Subject("10,000 empty cases: pytest alone", None, lambda: bench.empty_cases(10_000)),
        Subject("10,000 conclusions replayed", None, lambda: bench.replay(10_000)),
    )


def _batched(bench: Bench) -> Sequence[Subject]:
    def of(conclusions: int) -> Subject:
        return Subject(
            f"{conclusions:,} conclusions in batches", None, lambda: bench.batch(conclusions)
        )

    return (of(25_000), of(50_000), of(100_000))


def _with_xdist(bench: Bench) -> Sequence[Subject]:
    def of(workers: int) -> Subject:
        return Subject(
            f"500 conclusions at 0.2 s, `-n {workers}`",
            _floor_s(500, 0.2),
            lambda: bench.evaluation(500, 0.2, "-n", str(workers)),
        )

    return (of(2), of(4))


CASES: dict[str, Callable[[Bench], Sequence[Subject]]] = {
    "a": lambda bench: _live(bench, 500, 0.2),
    "b": lambda bench: _live(bench, 5_000, 0.05),
    "c": _replayed,
    "d": _batched,
    "e": _with_xdist,
}

"""``python -m tests.benchmarks``: what a run costs, beside its floor and a bare SDK script.

    python -m tests.benchmarks                 # every case, three times in turn (ten minutes)
    python -m tests.benchmarks --case a --case e --repeat 5

A benchmark and not a test: the machine is shared, so what counts is ratios within one run. Starts
the local Messages API server itself; needs no key and no network.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.cases import CASES, Bench, Subject
from tests.benchmarks.measure import Cost

_VERSIONS = ("anthropic", "aiohttp", "pytest", "pytest-xdist", "pytest-html", "pydantic")


def main() -> int:
    """Run the cases and print one table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--case", action="append", choices=sorted(CASES), metavar="LETTER")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs a subject (3)")
    options = parser.parse_args()
    sys.stdout.write(f"{_machine()}\n\n{_HEADER}")
    with (
        tempfile.TemporaryDirectory(prefix="conclusion-evals-bench-") as folder,
        Bench(Path(folder)) as bench,
    ):
        for letter in options.case or sorted(CASES):
            for line in _lines(letter, CASES[letter](bench), options.repeat):
                sys.stdout.write(line)
                sys.stdout.flush()
    return 0


_HEADER = (
    "| case | what | floor s | wall s (min-max) | of floor | CPU s | MiB |\n"
    "|---|---|---|---|---|---|---|\n"
)


def _lines(letter: str, subjects: Sequence[Subject], repeat: int) -> list[str]:
    costs: dict[str, list[Cost]] = {subject.name: [] for subject in subjects}
    for _ in range(repeat):  # in turn: a slow minute of the machine hits all of them
        for subject in subjects:
            costs[subject.name].append(subject.run())
    return [_line(letter, subject, costs[subject.name]) for subject in subjects]


def _line(letter: str, subject: Subject, costs: Sequence[Cost]) -> str:
    wall_s = [cost.wall_s for cost in costs]
    median_s = statistics.median(wall_s)
    floor, ratio = "", ""
    if subject.floor_s is not None:
        floor, ratio = f"{subject.floor_s:.1f}", f"{median_s / subject.floor_s:.2f}"
    cpu_s = statistics.median(cost.cpu_s for cost in costs)
    mib = max(cost.rss_bytes for cost in costs) / 2**20
    spread = f"{median_s:.1f} ({min(wall_s):.1f}-{max(wall_s):.1f})"
    cells = (letter, subject.name, floor, spread, ratio, f"{cpu_s:.1f}", f"{mib:.0f}")
    return f"| {' | '.join(cells)} |\n"


def _machine() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()};"
        f" Python {platform.python_version()}, {libraries}"
    )


if __name__ == "__main__":
    sys.exit(main())

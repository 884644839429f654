"""What a whole process cost: wall, CPU and memory, with the processes that it waited for."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """Of one process from start to end."""

    wall_s: float
    cpu_s: float
    """User and system time, of its children too."""
    rss_bytes: int
    """Peak of the largest single process among it and its children."""


class FailedRunError(Exception):
    """A process that was to be measured did not do its work."""


def cost_of(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path, wanted_output: str
) -> Cost:
    """Run ``command`` and return what it cost.

    Raises:
        FailedRunError: it failed, or its output lacks ``wanted_output``: no cost of half a run.
    """
    started_s = time.perf_counter()
    with subprocess.Popen(
        command, env=dict(environment), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started_s
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or wanted_output not in output:
        raise FailedRunError(f"{command}: exit code {process.returncode}\n{output[-2000:]}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)

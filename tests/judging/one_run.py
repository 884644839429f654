"""The judge of a run, in a process of its own: ``python -m tests.judging.one_run SETTINGS``.

Settings are JSON: ``mode``, ``store``, ``url``, ``questions``, ``in_flight``. It says ``ready``,
and asks once it is told to by a line; then it says where its answers came from, as JSON.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from evals.config import NO_LIMITS, RunConfig
from evals.judging.batch.engine import BatchEngine
from evals.judging.opening import open_engine
from tests.judging.batch_runs import judged, two_steps
from tests.judging.helpers import request_for


async def sources(settings: dict[str, Any]) -> Counter[str]:
    """Ask all questions; return how many answers came from where."""
    store = Path(settings["store"])
    # What the judge reads of it, and no more.
    fields: dict[str, Any] = {
        "judge_mode": settings["mode"],
        "max_in_flight": settings["in_flight"],
        "call_timeout_s": 120.0,
        "max_attempts": 4,
        "batch_poll_s": 0.05,
        "limits": NO_LIMITS,
        "base_url": settings["url"],
        "api_key": SecretStr("sk-ant-a-key"),
        "store_path": store,
        "recordings_dir": store.parent / "recordings",
    }
    engine = open_engine(RunConfig.model_construct(**fields))
    try:
        say("ready")
        sys.stdin.readline()
        if isinstance(engine, BatchEngine):
            rows = (await judged(engine, two_steps(settings["questions"]))).rows
            return Counter(call.source for row in rows for call in row.calls)
        asks = (engine.ask(request_for(f"{n}")) for n in range(settings["questions"]))
        return Counter(answer.call.source for answer in await asyncio.gather(*asks))
    finally:
        await engine.aclose()


def say(line: str) -> None:
    """Tell whoever started this process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    say(json.dumps(asyncio.run(sources(json.loads(sys.argv[1])))))

"""``python …/judge_process/__main__.py FD live|recorded``: started by ``start_process`` alone."""

import gc
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

# Ctrl-C goes to the whole group, and so can SIGTERM: the process that runs pytest closes the
# connection in its turn, once it has heard how far this one came.
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
# What is imported stays: the collector need not look at it again and again.
gc.disable()
# Started as a file: the checkout stands where its folder would.
sys.path[0] = str(Path(__file__).parents[2])

# The HTTP library would import trio where it is installed; all that runs here is asyncio.
sys.modules["trio"] = None  # type: ignore[assignment]  # how Python says that there is none

if sys.argv[2] == "live":
    from evals.judging.sdk import import_sdk

    import_sdk()

from evals.judge_process.child import serve  # noqa: E402  the longest import comes first

with Connection(int(sys.argv[1])) as connection:
    serve(connection)
sys.stdout.flush()
sys.stderr.flush()
# All is closed; taking 3,000 modules of the SDK apart would only keep the run waiting.
os._exit(0)

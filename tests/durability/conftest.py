import shutil
from pathlib import Path

import pytest

from tests.durability.endings import CALLS, resume
from tests.messages_api.fixtures import MessagesApi, messages_api, messages_api_process
from tests.plugin.runs import Evaluations, Finished, evaluations, make_trace, write_trace

__all__ = ["evaluations", "make_trace", "messages_api", "messages_api_process"]


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 conclusions in 6 windows."""
    return write_trace(tmp_path_factory.mktemp("trace") / "trace.jsonl", 6, 10)


@pytest.fixture(scope="session")
def undisturbed(
    trace: Path, tmp_path_factory: pytest.TempPathFactory, messages_api_process: MessagesApi
) -> Finished:
    """A run of ``trace`` that nothing came across."""
    messages_api_process.reset()
    evaluations = Evaluations(tmp_path_factory.mktemp("undisturbed"))
    run = resume(evaluations, trace, messages_api_process)
    assert len(messages_api_process.counts()["answered"]) == CALLS
    return run


@pytest.fixture
def paid(evaluations: Evaluations, undisturbed: Finished) -> Path:
    """A store with every answer that a run of ``trace`` needs."""
    of_undisturbed = undisturbed.run_dir.parents[1] / evaluations.store.name
    shutil.copyfile(of_undisturbed, evaluations.store)
    return evaluations.store

"""One trace for the whole folder, and what it comes to where nothing goes wrong."""

from pathlib import Path
from typing import Any

import pytest

from tests.in_process import judge_trace
from tests.messages_api.fixtures import MessagesApi, messages_api, messages_api_process
from tests.plugin.runs import evaluations, write_trace

__all__ = ["evaluations", "messages_api", "messages_api_process"]

WINDOWS = 2
CONCLUSIONS = 12
CALLS = 2 * CONCLUSIONS + WINDOWS
"""Two passes a conclusion, one minimality call a window."""
FIRST_CALLS = CONCLUSIONS + WINDOWS
"""Those that need no other answer."""


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    return write_trace(folder / "trace.jsonl", WINDOWS, CONCLUSIONS // WINDOWS)


@pytest.fixture(scope="session")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, messages_api_process: MessagesApi, trace: Path
) -> dict[str, dict[str, Any]]:
    """Return what is judged of every conclusion, by its case id."""
    messages_api_process.reset()
    store = tmp_path_factory.mktemp("undisturbed") / "answers.sqlite"
    found = judge_trace(store, trace, messages_api_process)
    assert not found.lacks_answers
    assert messages_api_process.counts()["posts"] == CALLS
    return judged(found.rows)


def judged(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what the judge said of each conclusion, without what differs from run to run."""
    kept = ("verdict", "unjudged", "pass_1", "pass_2", "minimality", "minimality_unjudged")
    return {row["case_id"]: {name: row[name] for name in kept} for row in rows}

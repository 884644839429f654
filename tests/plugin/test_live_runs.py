"""A live judge against a real local server: every call made once, nothing lost, nothing made up."""

from pathlib import Path

from tests.in_process import judge_trace
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import MakeTrace


def test_two_hundred_conclusions_cost_two_calls_each_and_one_a_window(
    tmp_path: Path, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset(latency_s=0.2)
    found = judge_trace(tmp_path / "answers.sqlite", make_trace(20, 10), messages_api)
    counts = messages_api.counts()
    assert counts["posts"] == len(counts["answered"]) == 2 * 200 + 20
    assert counts["max_in_flight"] == 64
    premise = found.summary["premise"]
    assert len(found.rows) == premise["conclusions"] == 200
    assert premise["tokens"]["calls"] == 420
    assert found.counts.calls == found.counts.attempts == 420
    assert {row["outcome"] for row in found.rows} <= {"sound", "unsound"}
    for row in found.rows:
        assert row["provenance"]["run_id"] == "run-1"
        assert row["provenance"]["deriver_model_id"] == "small-1"

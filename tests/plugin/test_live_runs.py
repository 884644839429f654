"""Live runs against a real local server: every call made once, nothing lost, nothing made up."""

from tests.messages_api.fixtures import MessagesApi
from tests.plugin.conftest import Evaluations, MakeTrace

PREMISE = "evals/premise"


def test_two_hundred_conclusions_cost_two_calls_each_and_one_a_window(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset(latency_s=0.2)
    run = evaluations.run(PREMISE, "--traces", str(make_trace(20, 10)), api=messages_api)
    counts = messages_api.counts()
    assert run.code == 0, run.output
    assert counts["posts"] == len(counts["answered"]) == 2 * 200 + 20
    assert counts["max_in_flight"] == 64
    assert len(run.rows) == run.summary["premise"]["conclusions"] == 200
    assert run.summary["premise"]["tokens"]["calls"] == 420
    assert run.info["complete"] is True
    assert run.info["calls_sent"] == run.info["http_attempts"] == 420
    assert {row["outcome"] for row in run.rows} <= {"sound", "unsound"}
    for row in run.rows:
        assert row["provenance"]["run_id"] == "run-1"
        assert row["provenance"]["deriver_model_id"] == "small-1"


def test_an_unchanged_trace_is_never_paid_for_twice(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(3, 4))
    first = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    messages_api.reset()
    second = evaluations.run(PREMISE, "--traces", trace, api=messages_api)
    assert messages_api.counts()["posts"] == 0
    assert [row["verdict"] for row in second.rows] == [row["verdict"] for row in first.rows]
    assert second.summary["premise"]["tokens"]["calls_by_source"] == {"store": 27}


def test_unjudged_items_up_to_the_allowed_share_exit_0(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    messages_api.reset("refusal:1.0")
    trace = str(make_trace(1, 2))
    run = evaluations.run(PREMISE, "--traces", trace, "--allow-unjudged", "1", api=messages_api)
    assert run.code == 0, run.output

"""Two runs at once on one store: both end right, and share the work: no request is asked twice."""

import pytest

from tests.durability.endings import PREMISE, figures, repeated, stored, verdicts
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, MakeTrace

CALLS = 630
IN_FLIGHT = 8
LATENCY_S = 0.1


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_two_runs_at_once_both_end_right_and_share_their_answers(
    workers: tuple[str, ...],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    trace = str(make_trace(30, 10))
    options = (PREMISE, "--traces", trace, "--max-in-flight", str(IN_FLIGHT), *workers)
    messages_api.reset(latency_s=LATENCY_S)
    started = [evaluations.start(*options, api=messages_api) for _ in range(2)]
    runs = [evaluations.end(*each) for each in started]
    assert [(run.code, run.info["complete"]) for run in runs] == [(0, True)] * 2, runs[0].output
    assert runs[0].run_dir != runs[1].run_dir
    assert len(stored(evaluations.store)) == CALLS
    assert len(messages_api.counts()["answered"]) == CALLS
    assert all(run.info["calls_sent"] > 0 for run in runs), "they did not run side by side"
    assert repeated(messages_api) == 0
    assert sum(run.info["calls_sent"] for run in runs) == CALLS

    alone = Evaluations(evaluations.folder / "alone")
    alone.folder.mkdir()
    undisturbed = alone.run(*options, api=messages_api)
    for run in runs:
        assert figures(run) == figures(undisturbed)
        assert verdicts(run) == verdicts(undisturbed)

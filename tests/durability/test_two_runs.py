"""Two runs at once on one store: both end right, and do not pay for the same work all along.

Nothing keeps two runs from asking the same question at the same moment: the first answer stands,
the second is paid for in vain. But a run that finds this out goes its own way through the items, so
that it stays at what is in flight at the start and at what they come upon together by chance. Of
630 calls with 8 in flight 40 to 75 were made twice, and about 570 without it.
"""

import pytest

from tests.durability.endings import PREMISE, figures, repeated, stored, verdicts, wait_until
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, MakeTrace

CALLS = 630
IN_FLIGHT = 8
LATENCY_S = 0.1


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.parametrize("head_start", [0, 60])
def test_two_runs_at_once_both_end_right_and_share_their_answers(
    workers: tuple[str, ...],
    head_start: int,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    trace = str(make_trace(30, 10))
    options = (PREMISE, "--traces", trace, "--max-in-flight", str(IN_FLIGHT), *workers)
    messages_api.reset(latency_s=LATENCY_S)
    first = evaluations.start(*options, api=messages_api)
    wait_until(first[0], lambda: len(messages_api.counts()["answered"]) >= head_start)
    second = evaluations.start(*options, api=messages_api)
    runs = [evaluations.end(*started) for started in (first, second)]
    assert [(run.code, run.info["complete"]) for run in runs] == [(0, True)] * 2, runs[0].output
    assert runs[0].run_dir != runs[1].run_dir
    assert len(stored(evaluations.store)) == CALLS
    assert len(messages_api.counts()["answered"]) == CALLS
    assert all(run.info["calls_sent"] > 0 for run in runs), "they did not run side by side"
    assert repeated(messages_api) <= CALLS // 3

    alone = Evaluations(evaluations.folder / "alone")
    alone.folder.mkdir()
    undisturbed = alone.run(*options, api=messages_api)
    for run in runs:
        assert figures(run) == figures(undisturbed)
        assert verdicts(run) == verdicts(undisturbed)

"""``-n``: one run, whatever the number of workers and whatever becomes of them."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evals.judging.store import AnswerStore
from evals.plugin.delivery import WORKER_INPUT
from evals.plugin.workers import Workers
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.figures import Figures, figures_of, junit_of
from tests.plugin.runs import ROOT, Evaluations, Finished, MakeTrace, write_trace

EVERYTHING = ["evals/", "calibration/"]
PREMISE = "evals/premise"
LATENCY_S = 0.02
GALLERY = """\
specimens:
- id: nothing-asked
  peer_id: ana
  conclusion: "ana planted 3 trees in week 0 of 2026"
  window: [{at: "2026-06-04T12:00:00Z", peer: ana, text: "I planted 3 trees."}]
  verdict: pass
  pass_1: {decontextuality_min: 0.0}
  pass_2: {}
  why: "Pass 1 alone always meets it."
- id: never-met
  peer_id: ana
  conclusion: "ana said yes"
  window: [{at: "2026-06-04T12:00:00Z", peer: ana, text: "Yes."}]
  verdict: fail
  pass_1: {unknown_slots_include: [NO SUCH SLOT]}
  pass_2: {}
  why: "No answer names this slot."
"""


class Bench:
    """Runs of all instruments and a gallery over one small trace, each with a store of its own."""

    def __init__(self, folder: Path, api: MessagesApi) -> None:
        self.folder = folder
        self._api = api
        self._trace = write_trace(folder / "trace.jsonl", 3, 3)
        self._gallery = folder / "gallery.yaml"
        self._gallery.write_text(GALLERY, encoding="utf-8")

    def run(self, name: str, *arguments: str, **environment: str) -> tuple[Finished, Figures]:
        self._api.reset(latency_s=LATENCY_S)
        folder = self.folder / name
        folder.mkdir()
        run = Evaluations(folder).run(
            *EVERYTHING,
            *("--traces", str(self._trace), "--gallery", str(self._gallery)),
            *(f"--junitxml={folder / 'junit.xml'}", *arguments),
            api=self._api,
            environment=environment,
        )
        assert run.run_dir.is_dir(), run.output
        return run, figures_of(run, folder / "junit.xml", self._api)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, messages_api_process: MessagesApi) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"), messages_api_process)


@pytest.fixture(scope="module")
def alone(bench: Bench) -> Figures:
    """What one process comes to: 9 conclusions, 3 batches, 3 windows and 4 specimens."""
    _, figures = bench.run("alone")
    assert len(figures.rows) == 15
    assert len(figures.junit) == figures.page.total() == 19
    assert {each.rpartition(": ")[2] for each in figures.junit} > {"", "failure", "scored"}
    assert figures.code == 1  # a specimen is not met
    return figures


@pytest.mark.parametrize(
    "arguments",
    [
        ["-n", "0"],
        ["-n", "2"],
        ["-n", "2", "--maxprocesses=1"],
        ["-n", "2", "--dist", "worksteal"],
        ["--dist", "load", "--tx", "2*popen"],
    ],
    ids=" ".join,
)
def test_any_number_of_workers_comes_to_what_one_process_comes_to(
    arguments: list[str], bench: Bench, alone: Figures
) -> None:
    _, figures = bench.run("_".join(arguments).replace("*", "x"), *arguments)
    assert figures == alone


def test_more_workers_than_items(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(1, 2))
    run = evaluations.run(PREMISE, "--traces", trace, "-n", "3", api=messages_api)
    assert run.code == 0, run.output
    assert len(run.rows) == 2
    assert messages_api.counts()["posts"] == 5


@pytest.mark.parametrize(
    ("who", "point", "item", "arguments"),
    [
        pytest.param("gw0", "collection", "", [], id="while it collects"),
        pytest.param("gw0", "setup", "", [], id="before its first item"),
        pytest.param("gw0", "waiting", "", [], id="while it waits for a row"),
        pytest.param("all", "call", "w0001/001", [], id="in the middle, and its replacement"),
        pytest.param("gw0", "teardown", "w0001", [], id="after a verdict"),
        pytest.param("all", "call", "never-met", [], id="in the last item"),
        pytest.param("gw0", "call", "", ["--max-worker-restart=0"], id="and is not replaced"),
        pytest.param("gw0,gw1", "call", "", ["--max-worker-restart=0"], id="with all others"),
        pytest.param("all", "setup", "", ["--max-worker-restart=1"], id="again and again"),
        pytest.param("gw0", "end", "w0001", [], id="between two items"),
    ],
)
def test_a_worker_that_dies(
    who: str,
    point: str,
    item: str,
    arguments: list[str],
    bench: Bench,
    alone: Figures,
    request: pytest.FixtureRequest,
) -> None:
    """Costs no call, no row and no outcome: each item ends once, as its row says."""
    run, figures = bench.run(
        re.sub(r"\W", "_", request.node.callspec.id),
        *("-n", "2", "-p", "tests.plugin.dying_worker", *arguments),
        DYING_WORKERS=who,
        DYING_AT=point,
        DYING_IN=item,
        PYTHONPATH=str(ROOT),
    )
    assert figures == alone
    assert "workers that died" in run.output
    assert "crashed while running" not in run.output


def test_x_ends_a_run_whose_workers_have_all_died(bench: Bench, messages_api: MessagesApi) -> None:
    """What they left is reported up to the first failure; the rest is no fault of the run's."""
    evaluations = Evaluations(bench.folder / "x")
    evaluations.folder.mkdir()
    messages_api.reset(latency_s=0.3)
    gallery = ["calibration/", "--gallery", str(bench.folder / "gallery.yaml")]
    run = evaluations.run(
        *(*gallery, "-n", "2", "-x", "--max-in-flight", "1"),
        *("-p", "tests.plugin.dying_worker", "--max-worker-restart=0"),
        api=messages_api,
        environment={
            "DYING_WORKERS": "all",
            "DYING_AT": "setup",
            "DYING_IN": "",
            "PYTHONPATH": str(ROOT),
        },
    )
    assert run.code == 1, run.output
    assert "INTERNALERROR" not in run.output
    assert "1 failed" in run.output


def test_workers_that_all_die_before_they_have_collected_end_the_run_with_one_message(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    run = evaluations.run(
        PREMISE,
        *("--traces", str(make_trace(1, 2)), "-n", "2", "--max-worker-restart=1"),
        *("-p", "tests.plugin.dying_worker"),
        api=messages_api,
        environment={
            "DYING_WORKERS": "all",
            "DYING_AT": "collection",
            "DYING_IN": "",
            "PYTHONPATH": str(ROOT),
        },
    )
    assert run.code == 1, run.output
    assert "Every xdist worker died before it had collected." in " ".join(run.output.split())
    assert "Traceback" not in run.output
    assert messages_api.counts()["posts"] == 0
    assert not run.run_dir.exists()


def test_what_is_sent_to_a_worker_that_has_just_died_is_no_error(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    def sendcommand(name: str, **content: object) -> None:
        raise OSError(f"cannot send {name}, {content} (already closed?)")

    config = SimpleNamespace(run_id="r", store_path=tmp_path / "answers.sqlite")
    run: Any = SimpleNamespace(config=config, catalog=SimpleNamespace(case_ids={}))
    node: Any = SimpleNamespace(workerinput={}, sendcommand=sendcommand)
    Workers(run, request.config, lambda _: None).pytest_configure_node(node)
    node.sendcommand("runtests", indices=[1, 2])
    assert node.workerinput[WORKER_INPUT]["run_id"] == "r"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-n", "2", "--dist", "each"], "--dist: found each"),
        (["-n", "2", "--dist", "loadscope"], "--dist: found loadscope"),
        (["--dist", "load", "--tx", "ssh=localhost"], "--tx: found ssh=localhost"),
        (["--dist", "load", "--tx", "popen//chdir=/"], "--tx: found popen//chdir=/"),
    ],
)
def test_what_would_report_an_item_twice_or_never_is_a_usage_error(
    arguments: list[str],
    said: str,
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    trace = str(make_trace(1, 2))
    run = evaluations.run(PREMISE, "--traces", trace, *arguments, api=messages_api)
    assert run.code == 4, run.output
    assert said in " ".join(run.output.split())
    assert messages_api.counts()["posts"] == 0
    assert not run.run_dir.exists()


def test_selection_selects_what_is_called(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    trace = str(make_trace(3, 4))
    arguments = ["--traces", trace, "-n", "2", "-k", "w0001"]
    run = evaluations.run(PREMISE, *arguments, api=messages_api)
    assert run.code == 0, run.output
    assert len(run.rows) == 4
    assert (run.info["selected"], run.info["collected"]) == (4, 12)
    assert messages_api.counts()["posts"] == 2 * 4 + 1


def test_nothing_selected_leaves_nothing(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    arguments = ["--traces", str(make_trace(1, 2)), "-n", "2", "-k", "nothing_like_it"]
    run = evaluations.run(PREMISE, *arguments, api=messages_api)
    assert run.code == 5, run.output
    assert messages_api.counts()["posts"] == 0
    assert not run.run_dir.exists()


def test_last_failed_are_run_again_alone(bench: Bench, messages_api: MessagesApi) -> None:
    evaluations = Evaluations(bench.folder / "again")
    evaluations.folder.mkdir()
    junit = evaluations.folder / "junit.xml"
    gallery = ["calibration/", "--gallery", str(bench.folder / "gallery.yaml")]
    arguments = [*gallery, "-n", "2", f"--junitxml={junit}"]
    first = evaluations.run(*arguments, api=messages_api)
    failed = [each for each in junit_of(junit) if each.endswith("failure")]
    again = evaluations.run(*arguments, "--lf", api=messages_api)
    assert (first.code, again.code) == (1, 1)
    assert 0 < len(failed) < 4
    assert junit_of(junit) == tuple(failed)
    assert messages_api.counts()["posts"] == len(messages_api.counts()["answered"])


def test_x_stops_at_a_hard_failure_with_the_same_exit_code(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    (evaluations.folder / "hard_failure.py").write_text(
        "def pytest_runtest_call(item):\n"
        "    if 'w0001' in item.nodeid: raise RuntimeError('hard failure')\n",
        encoding="utf-8",
    )
    messages_api.reset(latency_s=0.05)
    trace = str(make_trace(60, 4))
    arguments = ["--traces", trace, "-n", "2", "-x", "-p", "hard_failure", "--max-in-flight", "2"]
    run = evaluations.run(PREMISE, *arguments, api=messages_api)
    assert run.code == 1, run.output
    assert messages_api.counts()["posts"] < 9 * 60
    assert run.info["complete"] is False


def test_what_a_killed_run_of_the_same_name_left_is_not_read_and_nothing_but_answers_is_left(
    evaluations: Evaluations, make_trace: MakeTrace, messages_api: MessagesApi
) -> None:
    with closing(AnswerStore(evaluations.store)) as killed:
        killed.set_state("run-1", "aborted", "closed")
    run = evaluations.run(PREMISE, "--traces", str(make_trace(2, 2)), "-n", "2", api=messages_api)
    assert run.code == 0, run.output
    assert len(run.rows) == 4
    with closing(sqlite3.connect(evaluations.store)) as store:
        kept = {
            table: store.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("answers", "results", "run_states")
        }
    assert kept == {"answers": 10, "results": 0, "run_states": 0}


def test_a_worker_imports_nothing_of_instruments_report_and_judge() -> None:
    code = "import sys, evals.plugin; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    own = {name for name in done.stdout.split() if name.startswith(("evals.", "calibration"))}
    above = ("evals.traces", "evals.premise", "evals.set_level", "evals.coverage", "evals.runs")
    assert not [name for name in own if name.startswith((*above, "evals.report", "calibration"))]
    assert not {"anthropic", "httpx2", "scipy", "numpy", "pygal"} & set(done.stdout.split())

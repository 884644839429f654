"""What a run writes is its user's alone, whatever the umask, while it runs and afterwards."""

import stat
from contextlib import closing
from pathlib import Path

import pytest

from evals.judging.store import AnswerStore
from evals.runs.writer import RunWriter
from tests.durability.endings import PREMISE, wait_until
from tests.messages_api.fixtures import MessagesApi
from tests.plugin.runs import Evaluations, MakeTrace

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_to_others(folder: Path) -> dict[str, str]:
    """Return what below ``folder`` somebody else may do anything with, and its mode."""
    modes = {path: path.stat().st_mode for path in folder.rglob("*")}
    return {
        str(path.relative_to(folder)): stat.filemode(mode)
        for path, mode in modes.items()
        if mode & OTHERS
    }


@pytest.mark.parametrize(
    ("umask", "workers"),
    [
        ("000", ()),  # takes nothing away: 022 could only show less
        ("000", ("-n", "2")),
        ("077", ()),
    ],
)
def test_what_a_run_writes_is_its_users_alone(
    umask: str,
    workers: tuple[str, ...],
    evaluations: Evaluations,
    make_trace: MakeTrace,
    messages_api: MessagesApi,
) -> None:
    made = evaluations.folder / "made"
    made.mkdir(mode=0o700)
    evaluations.store = made / "store" / "deep" / "answers.sqlite"
    evaluations.reports = made / "reports" / "deep"
    evaluations.before = ("sh", "-c", f'umask {umask}; exec "$@"', "sh")
    trace = str(make_trace(6, 10))
    messages_api.reset(latency_s=0.1)
    pytests_own = (
        *(f"--junitxml={made / 'junit.xml'}", "-o", f"cache_dir={made / 'cache'}"),
        *(f"--log-file={made / 'log'}", "--log-file-level=DEBUG"),
        "--nf",  # or this run would put nothing into the cache
    )
    arguments = (PREMISE, "--traces", trace, "--max-in-flight", "8", *pytests_own, *workers)
    process, run_dir = evaluations.start(*arguments, api=messages_api)
    wait_until(process, (run_dir / "rows.jsonl").is_file)
    wait_until(process, lambda: len(messages_api.counts()["answered"]) > 60)
    names = {path.name for path in made.rglob("*")}
    assert {"answers.sqlite", "answers.sqlite-wal", "answers.sqlite-shm", "rows.jsonl"} <= names
    assert open_to_others(made) == {}
    run = evaluations.end(process, run_dir)
    assert run.code == 0, run.output
    written = {path.name for path in run_dir.iterdir()}
    assert {"run.json", "rows.jsonl", "summary.json", "report.html", "cases.html"} <= written
    assert {"junit.xml", "log", "cache"} <= {path.name for path in made.iterdir()}
    assert open_to_others(made) == {}


def test_what_is_exported_is_its_users_alone(
    evaluations: Evaluations, make_trace: MakeTrace
) -> None:
    made = evaluations.folder / "made"
    made.mkdir(mode=0o700)
    evaluations.before = ("sh", "-c", 'umask 000; exec "$@"', "sh")
    evaluations.store = made / "store" / "answers.sqlite"
    out = made / "deep" / "export"
    trace = str(make_trace(2, 3))
    run = evaluations.run(PREMISE, "--traces", trace, "--export-requests", str(out))
    assert run.code == 0, run.output
    assert [path for path in out.rglob("*") if path.is_file()]
    assert open_to_others(made) == {}


def test_folders_that_were_there_keep_their_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    AnswerStore(shared / "new" / "answers.sqlite").close()
    RunWriter(shared / "reports" / "run-1").close()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert open_to_others(shared) == {}


def test_a_store_that_others_can_read_stays_as_its_user_set_it(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    AnswerStore(path).close()
    path.chmod(0o644)
    with closing(AnswerStore(path)) as store:
        store.set_state("run", "begun", "yes")
        assert stat.S_IMODE(path.stat().st_mode) == 0o644

"""A request is claimed by one process at a time, until it is done with it or gone."""

import asyncio
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from evals.judging.store import Claims
from evals.judging.turns import LAST_LOOK_S, Turn
from tests.judging.helpers import Clock

ROOT = Path(__file__).parents[2]
ONE, OTHER = (hashlib.sha256(name).hexdigest() for name in (b"one", b"other"))
HOLDS = """
import sys
from pathlib import Path
from evals.judging.store import Claims
claims = Claims(Path(sys.argv[1]))
taken = [claims.take_batch_turn() if each == "batches" else claims.take(each)
         for each in sys.argv[2:]]
print(taken, flush=True)
sys.stdin.readline()
"""


@contextmanager
def held_elsewhere(store: Path, *what: str) -> Iterator[subprocess.Popen[str]]:
    """Have another process claim request hashes, or ``batches``."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(store), *what],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{[True] * len(what)}\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


@pytest.fixture
def claims(store: Path) -> Iterator[Claims]:
    with closing(Claims(store)) as opened:
        yield opened


def test_a_claim_of_another_process_is_respected_until_that_process_is_gone(
    store: Path, claims: Claims
) -> None:
    with held_elsewhere(store, ONE) as process:
        assert not claims.take(ONE)
        assert claims.take(OTHER)
        assert claims.take_batch_turn()
        process.kill()
        process.wait()
        assert claims.take(ONE)


def test_what_is_given_back_can_be_claimed_by_others_and_the_rest_cannot(
    store: Path, claims: Claims
) -> None:
    for each in (ONE, OTHER):
        assert claims.take(each)
    assert claims.take_batch_turn()
    claims.give_back(ONE)
    claims.give_back_batch_turn()
    with held_elsewhere(store, ONE, "batches"):
        assert not claims.take(ONE)
        assert not claims.take_batch_turn()


def test_a_claim_that_is_taken_twice_is_held_until_it_is_given_back_twice(
    store: Path, claims: Claims
) -> None:
    assert claims.take(ONE)
    assert claims.take(ONE)
    claims.give_back(ONE)
    with pytest.raises(AssertionError), held_elsewhere(store, ONE):
        pass
    claims.give_back(ONE)
    with held_elsewhere(store, ONE):
        assert not claims.take(ONE)


def test_closing_gives_everything_back_and_what_is_claimed_then_binds_nobody(
    store: Path, claims: Claims
) -> None:
    assert claims.take(ONE)
    claims.close()
    claims.close()
    with held_elsewhere(store, ONE):
        assert claims.take(ONE)
        claims.give_back(ONE)


def test_the_file_is_its_users_alone_and_lies_beside_the_real_store(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "real" / "answers.sqlite")
    previous = os.umask(0)
    try:
        with closing(Claims(tmp_path / "link.sqlite")) as claims:
            assert claims.take(ONE)
    finally:
        os.umask(previous)
    made = tmp_path / "real" / "answers.sqlite-claims"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert made.stat().st_size == 0


@pytest.mark.parametrize("hindrance", ["folder", "no folder"])
def test_where_no_file_can_be_made_everything_can_be_claimed(
    tmp_path: Path, hindrance: str
) -> None:
    store = tmp_path / "made" / "answers.sqlite"
    if hindrance == "folder":
        (tmp_path / "made" / "answers.sqlite-claims").mkdir(parents=True)
    with closing(Claims(store)) as claims:
        for _ in range(2):
            assert claims.take(ONE)
        claims.give_back(ONE)


class Elsewhere:
    """What another process has claimed until a certain time."""

    def __init__(self, until_s: float, clock: Clock) -> None:
        self.until_s = until_s
        self.clock = clock
        self.taken = 0

    def take(self) -> bool:
        self.taken += self.clock() >= self.until_s
        return self.clock() >= self.until_s

    def give_back(self) -> None:
        self.taken -= 1


def waited(until_s: float) -> tuple[Turn, Elsewhere, Clock]:
    """Wait for a turn that is free at ``until_s``."""
    clock = Clock()
    elsewhere = Elsewhere(until_s, clock)
    turn = Turn(
        elsewhere.take, elsewhere.give_back, longest_wait_s=60, sleep=clock.sleep, clock=clock
    )
    assert turn.begin() is (until_s == 0)
    asyncio.run(turn.wait(lambda: None))
    assert turn.begin()
    return turn, elsewhere, clock


@pytest.mark.parametrize("until_s", [0, 0.01, 1, 30])
def test_a_turn_is_had_soon_after_it_is_free_and_given_back_once(until_s: float) -> None:
    turn, elsewhere, clock = waited(until_s)
    assert clock() - until_s <= LAST_LOOK_S
    assert elsewhere.taken == 1
    turn.end()
    turn.end()
    assert elsewhere.taken == 0


def test_a_claim_that_is_never_given_back_is_respected_for_so_long_and_no_longer() -> None:
    turn, elsewhere, clock = waited(1000)
    assert 60 <= clock() <= 60 + LAST_LOOK_S
    turn.end()
    assert elsewhere.taken == 0
    assert not turn.begin(), "the next time it is respected again"


def test_what_stops_a_run_ends_its_waiting() -> None:
    clock = Clock()
    elsewhere = Elsewhere(1000, clock)
    turn = Turn(elsewhere.take, elsewhere.give_back, sleep=clock.sleep, clock=clock)

    def go_on() -> None:
        if clock() > 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        asyncio.run(turn.wait(go_on))

"""When a batch is looked at: soon at first, then ever less often, and at once where it is old."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from evals.judging.batch.api import BatchesApi
from evals.judging.batch.failures import Failure
from evals.judging.batch.intake import Bought
from evals.judging.batch.rounds import Rounds
from evals.judging.batch.spool import Spool
from evals.judging.message import ApiMessage
from evals.judging.sdk import ApiClient
from evals.judging.store import AnswerStore
from tests.judging.batch_runs import POLICY
from tests.judging.helpers import Clock, request_for
from tests.messages_api.batches import batch_fault_of
from tests.messages_api.fixtures import MessagesApi

POLL_S = 60.0


class Heard:
    """Follows requests."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.failures: list[Failure] = []

    def check_model(self, model_asked: str, request_hash: str, message: ApiMessage) -> None:
        assert message.model == model_asked, request_hash

    def answered(self, request_hash: str, message: ApiMessage, bought: Bought) -> None:
        assert message.text
        assert bought in {"own", "taken_up"}
        self.answers.append(request_hash)

    def failed(self, request_hash: str, failure: Failure) -> None:
        assert request_hash
        self.failures.append(failure)


def waits_of(
    store: Path, api: MessagesApi, heard: Heard, *, send: bool, chance: float = 0.5
) -> list[float]:
    """Wait for what is sent here, or was sent before; return how long between two looks."""
    clock = Clock()

    async def run() -> None:
        client = ApiClient(api_key=SecretStr("key"), base_url=api.url, max_connections=2)
        with closing(AnswerStore(store)) as opened:
            rounds = Rounds(
                BatchesApi(client, 20.0),
                opened,
                POLICY,
                POLL_S,
                heard,
                sleep=clock.sleep,
                clock=clock,
                chance=lambda: chance,
            )
            await rounds.load()
            if send:
                spool = Spool(store.parent)
                spool.add(request_for("a"))
                [batch] = spool.sealed()
                await rounds.send(batch)
                batch.close()
            await rounds.wait(lambda _: True)
            await rounds.aclose()

    asyncio.run(run())
    return clock.slept_s


def test_looks_become_rarer_up_to_five_minutes(tmp_path: Path, messages_api: MessagesApi) -> None:
    messages_api.reset_batches(ends_after_polls=7)
    heard = Heard()
    waits = waits_of(tmp_path / "s.sqlite", messages_api, heard, send=True)
    assert waits[:6] == pytest.approx([60, 90, 135, 202.5, 300, 300])
    assert len(waits) == messages_api.batch_counts()["exchanges"]["poll"]
    assert len(heard.answers) == 1


@pytest.mark.parametrize(("chance", "first_s"), [(0.0, 54.0), (1.0, 66.0)])
def test_many_runs_do_not_look_at_the_same_moment(
    chance: float, first_s: float, tmp_path: Path, messages_api: MessagesApi
) -> None:
    path = tmp_path / "s.sqlite"
    waits = waits_of(path, messages_api, Heard(), send=True, chance=chance)
    assert waits[0] == pytest.approx(first_s)


def test_a_server_that_refuses_to_say_is_asked_for_hours_and_then_no_more(
    tmp_path: Path, messages_api: MessagesApi
) -> None:
    messages_api.reset_batches("poll.http_429:1-")
    heard = Heard()
    waits = waits_of(tmp_path / "s.sqlite", messages_api, heard, send=True)
    assert 6 * 3600 <= sum(waits) < 7 * 3600
    assert [failure.follow for failure in heard.failures] == ["give_up"]


def test_a_batch_of_an_earlier_run_is_looked_at_at_once(
    tmp_path: Path, messages_api: MessagesApi
) -> None:
    path = tmp_path / "s.sqlite"
    messages_api.reset_batches("poll.http_401:1-1")
    assert len(waits_of(path, messages_api, Heard(), send=True)) == 1
    heard = Heard()
    assert waits_of(path, messages_api, heard, send=False)[0] == 0
    assert len(heard.answers) == 1


@pytest.mark.parametrize(
    "text", ["unknown:1-1", "poll.lost:1-1", "submit.http_5:1-1", "doubled:0", "doubled"]
)
def test_a_fault_of_batches_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"fault|float"):
        batch_fault_of(text)

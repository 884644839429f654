import logging
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from evals.judging.hidden_key import HIDDEN, hide_in_logs

KEY = "sk-ant-0123456789"
LOGGER = logging.getLogger("some.library")


@pytest.fixture(autouse=True)
def hidden() -> Iterator[None]:
    before = logging.getLogRecordFactory()
    hide_in_logs(SecretStr(KEY))
    yield
    logging.setLogRecordFactory(before)


def test_the_key_is_hidden_wherever_it_stands_in_a_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        LOGGER.debug("headers: %s", {"request-id": KEY})
        LOGGER.debug(f"{KEY} and {KEY} with a lone % sign")  # noqa: G004  as some libraries do
    assert KEY not in caplog.text
    assert caplog.messages == [
        f"headers: {{'request-id': '{HIDDEN}'}}",
        f"{HIDDEN} and {HIDDEN} with a lone % sign",
    ]


def test_other_messages_stay_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        LOGGER.debug("%d of %s", 3, "four")
    (record,) = caplog.records
    assert (record.msg, record.args, record.getMessage()) == ("%d of %s", (3, "four"), "3 of four")


def test_the_key_is_hidden_in_a_logged_traceback(caplog: pytest.LogCaptureFixture) -> None:
    try:
        int(KEY)
    except ValueError:
        LOGGER.exception("it failed")
    assert KEY not in caplog.text
    assert f"ValueError: invalid literal for int() with base 10: '{HIDDEN}'" in caplog.text


def test_a_message_that_cannot_be_formatted_does_not_show_the_key_either(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logging.getLogger().addHandler(quiet := logging.NullHandler())
    try:
        LOGGER.warning("%d", KEY)
    except TypeError:  # pytest's handler raises what others print
        pass
    finally:
        logging.getLogger().removeHandler(quiet)
    assert KEY not in caplog.text

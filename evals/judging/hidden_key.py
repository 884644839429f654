"""Keeps the API key out of what any library logs.

The SDK and the HTTP libraries below it hide the key in the headers that they send. They do not in
what a server says back: at debug level they log its headers as they came.
"""

import logging
from typing import Any

from pydantic import SecretStr

HIDDEN = "(key)"
"""What stands where the key was."""


def hide_in_logs(key: SecretStr) -> None:
    """Have every log record of this process, made from now on, without the key.

    For a process that does nothing else but use that key: it holds until the process ends.
    """
    secret = key.get_secret_value()
    make = logging.getLogRecordFactory()
    formatter = logging.Formatter()

    def make_without(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        text = _text_of(record)
        if secret in text:
            record.msg, record.args = text.replace(secret, HIDDEN), None
        if record.exc_info:
            traceback = formatter.formatException(record.exc_info)
            if secret in traceback:
                # Handlers print this instead of formatting the exception themselves.
                record.exc_text = traceback.replace(secret, HIDDEN)
        return record

    logging.setLogRecordFactory(make_without)


def _text_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001  logging reports it where the record is printed
        return f"{record.msg} {record.args}"

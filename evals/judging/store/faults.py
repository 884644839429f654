"""What SQLite's errors mean to the owner of a store, and what can be done about them."""

import sqlite3
from typing import NamedTuple

READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN})
"""Codes of a file that is there and may not be written."""
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""Codes of a file whose content is not what was written."""


class Fault(NamedTuple):
    """Three of the four things that an error says; where is the file."""

    found: str
    wanted: str
    todo: str


_RERUN = "then run again: what is stored is kept and asked for no second time."
_BY_CODE = {
    sqlite3.SQLITE_FULL: (
        "room for another answer",
        f"Free space on the disk that it is on, {_RERUN}",
    ),
    sqlite3.SQLITE_IOERR: (
        "a disk that takes what is written",
        f"Check the disk and your quota on it, {_RERUN}",
    ),
    sqlite3.SQLITE_READONLY: (
        "a file that may be written",
        "Make the file and its folder writable, or choose another --store.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "a file that can be opened, in a folder that can be written",
        "Check path and permissions, also of -wal and -shm beside it, or choose another --store.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "a whole answer store",
        "Restore it from a copy, or save what is left: sqlite3 FILE .recover | sqlite3 NEW.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "an answer store",
        "Restore it from a copy, or choose another --store.",
    ),
}
_OTHER = (
    "a readable and writable answer store",
    "Check disk and permissions, or choose another --store.",
)


def fault_of(error: sqlite3.Error, busy_timeout_s: float) -> Fault:
    """Return what ``error`` is to the owner of a store.

    Args:
        error: what SQLite raised.
        busy_timeout_s: how long it had waited for other processes, if it had to.
    """
    code = code_of(error)
    if code == sqlite3.SQLITE_BUSY:
        return Fault(
            f"locked by another process, still after {busy_timeout_s:g} s ({error})",
            "a turn to write",
            "Wait until that process is done, or end it, and run again; or choose another --store.",
        )
    known = code in _BY_CODE
    return Fault(str(error), *(_BY_CODE[code] if known else _OTHER))


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code; 0 for errors of Python's own module, which have none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF

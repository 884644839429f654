"""The tables of the store file, and how an older file comes to have them."""

APPLICATION_ID = 0x43514556
"""Marks the file as ours in SQLite's header: ``CQEV``."""
SCHEMA_VERSION = 2
"""What a file made now has, in SQLite's ``user_version``."""

_VERSION_1 = (
    """
    CREATE TABLE answers (
        request_hash TEXT PRIMARY KEY,
        message TEXT NOT NULL,
        model_asked TEXT NOT NULL,
        model_served TEXT NOT NULL,
        received_at TEXT
    ) STRICT
    """,
    """
    CREATE TABLE results (
        run_id TEXT NOT NULL,
        case_id TEXT NOT NULL,
        row TEXT NOT NULL,
        PRIMARY KEY (run_id, case_id)
    ) STRICT
    """,
    """
    CREATE TABLE run_states (
        run_id TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (run_id, name)
    ) STRICT
    """,
)
_VERSION_2 = (
    # One submitted Message Batch. submission: ours, committed before it is sent. batch_id: the
    # server's, null until it has said it. server: the address it was sent to, without credentials.
    # ended_at: set when its results are all in the answers table, or it failed for good.
    """
    CREATE TABLE batches (
        submission TEXT PRIMARY KEY,
        batch_id TEXT,
        server TEXT NOT NULL,
        model_asked TEXT NOT NULL,
        submitted_at TEXT NOT NULL,
        ended_at TEXT
    ) STRICT
    """,
    # What is asked in a batch that has not ended.
    """
    CREATE TABLE batch_requests (
        submission TEXT NOT NULL,
        request_hash TEXT NOT NULL,
        PRIMARY KEY (submission, request_hash)
    ) STRICT, WITHOUT ROWID
    """,
)

_STEPS = {0: _VERSION_1, 1: _VERSION_2}


def statements_from(version: int) -> list[str]:
    """Return what brings a file of ``version`` (0: an empty one) to ``SCHEMA_VERSION``.

    Every statement may run in one transaction, and none touches what an earlier version wrote.
    """
    made = [each for step in range(version, SCHEMA_VERSION) for each in _STEPS[step]]
    return [
        *made,
        f"PRAGMA application_id = {APPLICATION_ID}",
        f"PRAGMA user_version = {SCHEMA_VERSION}",
    ]

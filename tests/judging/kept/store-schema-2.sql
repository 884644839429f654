-- An answer store as schema version 2 wrote it. Never changed: later versions must read or refuse it.
PRAGMA application_id = 1129399638;
PRAGMA user_version = 2;
CREATE TABLE answers (
    request_hash TEXT PRIMARY KEY,
    message TEXT NOT NULL,
    model_asked TEXT NOT NULL,
    model_served TEXT NOT NULL,
    received_at TEXT
) STRICT;
CREATE TABLE results (
    run_id TEXT NOT NULL,
    case_id TEXT NOT NULL,
    row TEXT NOT NULL,
    PRIMARY KEY (run_id, case_id)
) STRICT;
CREATE TABLE run_states (
    run_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;
CREATE TABLE batches (
    submission TEXT PRIMARY KEY,
    batch_id TEXT,
    server TEXT NOT NULL,
    model_asked TEXT NOT NULL,
    submitted_at TEXT NOT NULL,
    ended_at TEXT
) STRICT;
CREATE TABLE batch_requests (
    submission TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    PRIMARY KEY (submission, request_hash)
) STRICT, WITHOUT ROWID;
INSERT INTO answers VALUES (
    '1111111111111111111111111111111111111111111111111111111111111111',
    '{"type":"message"}', 'claude-a', 'claude-a-20260101', '2026-06-04T12:00:00.123456+00:00'
);
INSERT INTO answers VALUES (
    '2222222222222222222222222222222222222222222222222222222222222222',
    '{"type":"message"}', 'claude-a', 'claude-a-20260101', NULL
);
INSERT INTO results VALUES ('run-1', 'premise/a', '{"outcome": "sound"}');
INSERT INTO run_states VALUES ('run-1', 'aborted', 'yes');
INSERT INTO batches VALUES (
    '0b8e3b1a-6f0e-4a67-9d43-2f2f6d1b7c55', 'msgbatch_1', 'https://judge.example', 'claude-a',
    '2026-06-04T12:00:00+00:00', NULL
);
INSERT INTO batch_requests VALUES (
    '0b8e3b1a-6f0e-4a67-9d43-2f2f6d1b7c55',
    '3333333333333333333333333333333333333333333333333333333333333333'
);

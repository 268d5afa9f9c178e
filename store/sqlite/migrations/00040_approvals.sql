-- +goose Up
-- Tool calls that a person has to decide about. The rows are kept, as a record of who allowed what.
CREATE TABLE approvals (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    run_id     TEXT NOT NULL,
    agent      TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    tool       TEXT NOT NULL,
    args       TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    status     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    created    INTEGER NOT NULL,
    expires    INTEGER NOT NULL,
    decided    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX approvals_pending ON approvals (run_id) WHERE status = 'pending';
CREATE INDEX approvals_created ON approvals (created, id);
CREATE INDEX approvals_status ON approvals (status, created, id);
CREATE INDEX approvals_session ON approvals (session_id, created, id);

-- +goose Up
-- Tool calls that a person has to decide about. The rows are kept, as a record of who allowed what.
CREATE TABLE approvals (
    id         TEXT COLLATE "C" PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    call_id    TEXT COLLATE "C" NOT NULL,
    tool       TEXT COLLATE "C" NOT NULL,
    args       TEXT COLLATE "C" NOT NULL,
    level      SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    status     TEXT COLLATE "C" NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    decided_by TEXT COLLATE "C" NOT NULL,
    created    BIGINT NOT NULL,
    expires    BIGINT NOT NULL,
    decided    BIGINT NOT NULL
);
CREATE INDEX approvals_pending ON approvals (run_id) WHERE status = 'pending';
CREATE INDEX approvals_created ON approvals (created, id);
CREATE INDEX approvals_status ON approvals (status, created, id);
CREATE INDEX approvals_session ON approvals (session_id, created, id);

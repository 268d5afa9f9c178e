-- +goose Up
-- What a session's agent has set itself to do. The rows end with their session.
CREATE TABLE todos (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    text       TEXT NOT NULL,
    status     TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    created    INTEGER NOT NULL,
    place      INTEGER NOT NULL, -- among those that were created together
    updated    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX todos_session ON todos (session_id, created, place);

-- A session may have thousands of exchanges behind it; what has not ended is found without them.
CREATE INDEX exchanges_open_requester ON exchanges (requester, started) WHERE ended = 0;
CREATE INDEX exchanges_open_target ON exchanges (target, started) WHERE ended = 0;
CREATE INDEX exchanges_open ON exchanges (started) WHERE ended = 0;
CREATE INDEX exchanges_started ON exchanges (started);

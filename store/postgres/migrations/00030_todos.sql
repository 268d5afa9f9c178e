-- +goose Up
-- What a session's agent has set itself to do. The rows end with their session.
CREATE TABLE todos (
    id         TEXT COLLATE "C" PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    text       TEXT COLLATE "C" NOT NULL,
    status     TEXT COLLATE "C" NOT NULL,
    level      SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    created    BIGINT NOT NULL,
    place      BIGINT NOT NULL, -- among those that were created together
    updated    BIGINT NOT NULL
);
CREATE INDEX todos_session ON todos (session_id, created, place);

-- A session may have thousands of exchanges behind it; what has not ended is found without them.
CREATE INDEX exchanges_open_requester ON exchanges (requester, started, id) WHERE ended = 0;
CREATE INDEX exchanges_open_target ON exchanges (target, started, id) WHERE ended = 0;
CREATE INDEX exchanges_open ON exchanges (started, id) WHERE ended = 0;
CREATE INDEX exchanges_started ON exchanges (started, id);

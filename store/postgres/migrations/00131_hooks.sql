-- +goose Up
-- Requests to hooks. Their triggers have the same keys. A request whose signature covers only the body is also known by its content.
CREATE TABLE hook_requests (
    id         TEXT COLLATE "C" PRIMARY KEY,
    hook       TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    once       TEXT COLLATE "C" NOT NULL,
    digest     TEXT COLLATE "C" NOT NULL,
    level      SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body       TEXT NOT NULL,
    received   BIGINT NOT NULL,
    payload    BYTEA NOT NULL
);
CREATE UNIQUE INDEX hook_requests_once ON hook_requests (hook, once) WHERE once <> '';
CREATE INDEX hook_requests_history ON hook_requests (hook, received, id);
CREATE INDEX hook_requests_age ON hook_requests (received);

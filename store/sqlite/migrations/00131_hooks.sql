-- +goose Up
-- Requests to hooks. Their triggers have the same keys. A request whose signature covers only the body is also known by its content.
CREATE TABLE hook_requests (
    id         TEXT PRIMARY KEY,
    hook       TEXT NOT NULL,
    request_id TEXT NOT NULL,
    once       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body       TEXT NOT NULL,
    received   INTEGER NOT NULL,
    payload    BLOB NOT NULL
);
CREATE UNIQUE INDEX hook_requests_once ON hook_requests (hook, once) WHERE once <> '';
CREATE INDEX hook_requests_history ON hook_requests (hook, received, id);
CREATE INDEX hook_requests_age ON hook_requests (received);

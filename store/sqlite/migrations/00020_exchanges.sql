-- +goose Up
ALTER TABLE sessions ADD COLUMN spawned_by TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_spawned ON sessions (spawned_by) WHERE spawned_by <> '' AND ended = 0;

ALTER TABLE runs ADD COLUMN exchange_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN chain TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN timeout INTEGER NOT NULL DEFAULT 0;

-- One row for each request of one session to another, with all of its steps.
CREATE TABLE exchanges (
    id        TEXT PRIMARY KEY,
    revision  INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    requester TEXT NOT NULL,
    target    TEXT NOT NULL,
    first_run TEXT NOT NULL,
    run_id    TEXT NOT NULL,
    body      TEXT NOT NULL,
    route     TEXT NOT NULL,
    chain     TEXT NOT NULL,
    level     INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust     INTEGER NOT NULL CHECK (trust IN (0, 1)),
    started   INTEGER NOT NULL,
    ended     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX exchanges_requester ON exchanges (requester, started);
CREATE INDEX exchanges_target ON exchanges (target, started);

-- What the runs of a chain have used together.
CREATE TABLE chains (
    id      TEXT PRIMARY KEY,
    steps   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    started INTEGER NOT NULL
) WITHOUT ROWID;

-- +goose Up
ALTER TABLE sessions ADD COLUMN spawned_by TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX sessions_spawned ON sessions (spawned_by) WHERE spawned_by <> '' AND ended = 0;

ALTER TABLE runs ADD COLUMN exchange_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN chain TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN timeout BIGINT NOT NULL DEFAULT 0;

-- One row for each request of one session to another, with all of its steps.
CREATE TABLE exchanges (
    id        TEXT COLLATE "C" PRIMARY KEY,
    revision  BIGINT NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    requester TEXT COLLATE "C" NOT NULL,
    target    TEXT COLLATE "C" NOT NULL,
    first_run TEXT COLLATE "C" NOT NULL,
    run_id    TEXT COLLATE "C" NOT NULL,
    body      TEXT COLLATE "C" NOT NULL,
    route     TEXT COLLATE "C" NOT NULL,
    chain     TEXT COLLATE "C" NOT NULL,
    level     SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust     SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    started   BIGINT NOT NULL,
    ended     BIGINT NOT NULL
);
CREATE INDEX exchanges_requester ON exchanges (requester, started);
CREATE INDEX exchanges_target ON exchanges (target, started);

-- What the runs of a chain have used together.
CREATE TABLE chains (
    id      TEXT COLLATE "C" PRIMARY KEY,
    steps   BIGINT NOT NULL,
    tokens  BIGINT NOT NULL,
    started BIGINT NOT NULL
);

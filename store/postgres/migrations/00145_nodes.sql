-- +goose Up
-- Programs and devices that dial in, and those that ask to.
CREATE TABLE nodes (
    id       TEXT COLLATE "C" PRIMARY KEY,
    revision BIGINT NOT NULL,
    status   TEXT COLLATE "C" NOT NULL,
    code     TEXT NOT NULL,
    token    TEXT COLLATE "C" NOT NULL UNIQUE,
    level    SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL,
    created  BIGINT NOT NULL,
    expires  BIGINT NOT NULL,
    changed  BIGINT NOT NULL
);
CREATE INDEX nodes_changed ON nodes (changed);

-- +goose Up
-- Programs and devices that dial in, and those that ask to.
CREATE TABLE nodes (
    id       TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    status   TEXT NOT NULL,
    code     TEXT NOT NULL,
    token    TEXT NOT NULL UNIQUE,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL,
    created  INTEGER NOT NULL,
    expires  INTEGER NOT NULL,
    changed  INTEGER NOT NULL
);
CREATE INDEX nodes_changed ON nodes (changed);

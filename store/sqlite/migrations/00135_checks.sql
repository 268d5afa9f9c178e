-- +goose Up
-- What the checks of the configuration last found.
CREATE TABLE checks (
    name     TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL,
    looked   INTEGER NOT NULL
);
CREATE INDEX checks_age ON checks (looked);

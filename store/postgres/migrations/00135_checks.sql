-- +goose Up
-- What the checks of the configuration last found.
CREATE TABLE checks (
    name     TEXT COLLATE "C" PRIMARY KEY,
    revision BIGINT NOT NULL,
    level    SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL,
    looked   BIGINT NOT NULL
);
CREATE INDEX checks_age ON checks (looked);

-- +goose Up
-- How many messages and requests were counted since a window began, for each level: of this level and lower ones.
CREATE TABLE limit_windows (
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    level   INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    started INTEGER NOT NULL,
    used    INTEGER NOT NULL,
    PRIMARY KEY (kind, name, level)
) WITHOUT ROWID;
CREATE INDEX limit_windows_started ON limit_windows (started);

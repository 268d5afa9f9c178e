-- +goose Up
-- The rules that always allow calls which an owner has allowed once.
CREATE TABLE allow_rules (
    id       TEXT PRIMARY KEY,
    agent    TEXT NOT NULL,
    tool     TEXT NOT NULL,
    args     TEXT NOT NULL, -- a pattern
    terms    TEXT NOT NULL,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    INTEGER NOT NULL CHECK (trust IN (0, 1)),
    approval TEXT NOT NULL,
    made_by  TEXT NOT NULL,
    created  INTEGER NOT NULL
);
CREATE INDEX allow_rules_call ON allow_rules (agent, tool, created, id);

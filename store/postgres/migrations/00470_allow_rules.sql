-- +goose Up
-- The rules that always allow calls which an owner has allowed once.
CREATE TABLE allow_rules (
    id       TEXT COLLATE "C" PRIMARY KEY,
    agent    TEXT COLLATE "C" NOT NULL,
    tool     TEXT COLLATE "C" NOT NULL,
    args     TEXT NOT NULL, -- a pattern
    terms    TEXT NOT NULL,
    level    SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    approval TEXT NOT NULL,
    made_by  TEXT NOT NULL,
    created  BIGINT NOT NULL
);
CREATE INDEX allow_rules_call ON allow_rules (agent, tool, created, id);

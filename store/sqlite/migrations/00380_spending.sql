-- +goose Up
-- Accounts of what models cost: calls (kind 0), and budgets in a period (kind 1). One statement posts to a call and to all
-- budgets that it touches. Money is in billionths of the currency.
CREATE TABLE spending (
    id           TEXT PRIMARY KEY,
    kind         INTEGER NOT NULL CHECK (kind IN (0, 1)),
    at           INTEGER NOT NULL, -- the call's start, the period's start
    held         INTEGER NOT NULL, -- of a call: 1 while it has a reservation, -1 while it is added to its day
    spent        INTEGER NOT NULL,
    most         INTEGER NOT NULL, -- the budget's limit at the first call
    extra        INTEGER NOT NULL, -- what an owner has added to the limit
    ends         INTEGER NOT NULL, -- the period's end
    budget       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    session_id   TEXT NOT NULL,
    agent        TEXT NOT NULL,
    person       TEXT NOT NULL,
    job          TEXT NOT NULL,
    unattended   INTEGER NOT NULL,
    partition_no INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    provider     TEXT NOT NULL,
    key_name     TEXT NOT NULL,
    model        TEXT NOT NULL,
    level        INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    latency      INTEGER NOT NULL,
    outcome      TEXT NOT NULL,
    input        INTEGER NOT NULL,
    output       INTEGER NOT NULL,
    cached       INTEGER NOT NULL,
    written      INTEGER NOT NULL,
    thinking     INTEGER NOT NULL,
    pictures     INTEGER NOT NULL,
    audio        INTEGER NOT NULL, -- milliseconds
    currency     TEXT NOT NULL,
    priced       INTEGER NOT NULL,
    assumed      INTEGER NOT NULL,
    reserved     TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX spending_at ON spending (at) WHERE kind = 0;
CREATE INDEX spending_session ON spending (session_id) WHERE kind = 0;
CREATE INDEX spending_open ON spending (at) WHERE kind = 0 AND held <> 0;
CREATE INDEX spending_budgets ON spending (budget, at, subject) WHERE kind = 1;
CREATE INDEX spending_ended ON spending (ends) WHERE kind = 1;

-- What is kept of calls whose rows were removed: their sums for each day (UTC).
CREATE TABLE spending_days (
    day      INTEGER NOT NULL, -- since 1970
    agent    TEXT NOT NULL,
    person   TEXT NOT NULL,
    job      TEXT NOT NULL,
    provider TEXT NOT NULL,
    key_name TEXT NOT NULL,
    model    TEXT NOT NULL,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    currency TEXT NOT NULL,
    calls    INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    assumed  INTEGER NOT NULL,
    spent    INTEGER NOT NULL,
    input    INTEGER NOT NULL,
    output   INTEGER NOT NULL,
    cached   INTEGER NOT NULL,
    written  INTEGER NOT NULL,
    thinking INTEGER NOT NULL,
    pictures INTEGER NOT NULL,
    audio    INTEGER NOT NULL,
    PRIMARY KEY (day, agent, person, job, provider, key_name, model, level, currency)
) WITHOUT ROWID;

-- +goose Up
-- Accounts of what models cost: calls (kind 0), and budgets in a period (kind 1). One statement posts to a call and to all
-- budgets that it touches. Money is in billionths of the currency.
CREATE TABLE spending (
    id           TEXT COLLATE "C" PRIMARY KEY,
    kind         SMALLINT NOT NULL CHECK (kind IN (0, 1)),
    at           BIGINT NOT NULL, -- the call's start, the period's start
    held         BIGINT NOT NULL, -- of a call: 1 while it has a reservation, -1 while it is added to its day
    spent        BIGINT NOT NULL,
    most         BIGINT NOT NULL, -- the budget's limit at the first call
    extra        BIGINT NOT NULL, -- what an owner has added to the limit
    ends         BIGINT NOT NULL, -- the period's end
    budget       TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    run_id       TEXT COLLATE "C" NOT NULL,
    session_id   TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    person       TEXT COLLATE "C" NOT NULL,
    job          TEXT COLLATE "C" NOT NULL,
    unattended   SMALLINT NOT NULL,
    partition_no BIGINT NOT NULL,
    epoch        BIGINT NOT NULL,
    provider     TEXT COLLATE "C" NOT NULL,
    key_name     TEXT COLLATE "C" NOT NULL,
    model        TEXT COLLATE "C" NOT NULL,
    level        SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    latency      BIGINT NOT NULL,
    outcome      TEXT COLLATE "C" NOT NULL,
    input        BIGINT NOT NULL,
    output       BIGINT NOT NULL,
    cached       BIGINT NOT NULL,
    written      BIGINT NOT NULL,
    thinking     BIGINT NOT NULL,
    pictures     BIGINT NOT NULL,
    audio        BIGINT NOT NULL, -- milliseconds
    currency     TEXT COLLATE "C" NOT NULL,
    priced       SMALLINT NOT NULL,
    assumed      BIGINT NOT NULL,
    reserved     TEXT NOT NULL
);
CREATE INDEX spending_at ON spending (at) WHERE kind = 0;
CREATE INDEX spending_session ON spending (session_id) WHERE kind = 0;
CREATE INDEX spending_open ON spending (at) WHERE kind = 0 AND held <> 0;
CREATE INDEX spending_budgets ON spending (budget, at, subject) WHERE kind = 1;
CREATE INDEX spending_ended ON spending (ends) WHERE kind = 1;

-- What is kept of calls whose rows were removed: their sums for each day (UTC).
CREATE TABLE spending_days (
    day      BIGINT NOT NULL, -- since 1970
    agent    TEXT COLLATE "C" NOT NULL,
    person   TEXT COLLATE "C" NOT NULL,
    job      TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    key_name TEXT COLLATE "C" NOT NULL,
    model    TEXT COLLATE "C" NOT NULL,
    level    SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    currency TEXT COLLATE "C" NOT NULL,
    calls    BIGINT NOT NULL,
    failed   BIGINT NOT NULL,
    unpriced BIGINT NOT NULL,
    assumed  BIGINT NOT NULL,
    spent    BIGINT NOT NULL,
    input    BIGINT NOT NULL,
    output   BIGINT NOT NULL,
    cached   BIGINT NOT NULL,
    written  BIGINT NOT NULL,
    thinking BIGINT NOT NULL,
    pictures BIGINT NOT NULL,
    audio    BIGINT NOT NULL,
    PRIMARY KEY (day, agent, person, job, provider, key_name, model, level, currency)
);

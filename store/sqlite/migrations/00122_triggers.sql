-- +goose Up
-- What happens without a message: the instants of jobs. The owner of the partition acts on the open rows when they are due.
CREATE TABLE triggers (
    trigger_key  TEXT PRIMARY KEY,
    revision     INTEGER NOT NULL,
    source       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    partition_no INTEGER NOT NULL,
    status       TEXT NOT NULL,
    due          INTEGER NOT NULL,
    level        INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body         TEXT NOT NULL,
    created      INTEGER NOT NULL,
    fired        INTEGER NOT NULL,
    ended        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX triggers_due ON triggers (partition_no, due) WHERE status IN ('waiting', 'delivering');
CREATE INDEX triggers_history ON triggers (source, subject, ended, trigger_key) WHERE ended > 0;
CREATE INDEX triggers_ended ON triggers (ended) WHERE ended > 0;

-- +goose Up
-- What happens without a message: the instants of jobs. The owner of the partition acts on the open rows when they are due.
CREATE TABLE triggers (
    trigger_key  TEXT COLLATE "C" PRIMARY KEY,
    revision     BIGINT NOT NULL,
    source       TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    partition_no INTEGER NOT NULL,
    status       TEXT COLLATE "C" NOT NULL,
    due          BIGINT NOT NULL,
    level        SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body         TEXT NOT NULL,
    created      BIGINT NOT NULL,
    fired        BIGINT NOT NULL,
    ended        BIGINT NOT NULL
);
CREATE INDEX triggers_due ON triggers (partition_no, due) WHERE status IN ('waiting', 'delivering');
CREATE INDEX triggers_history ON triggers (source, subject, ended, trigger_key) WHERE ended > 0;
CREATE INDEX triggers_ended ON triggers (ended) WHERE ended > 0;

-- +goose Up
-- Jobs that were made at run time, and which jobs of the file are paused.
CREATE TABLE jobs (
    id           TEXT NOT NULL,
    origin       TEXT NOT NULL,
    revision     INTEGER NOT NULL,
    partition_no INTEGER NOT NULL,
    level        INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        INTEGER NOT NULL CHECK (trust IN (0, 1)),
    session_id   TEXT NOT NULL,
    body         TEXT NOT NULL,
    created      INTEGER NOT NULL,
    changed      INTEGER NOT NULL,
    PRIMARY KEY (id, origin)
) WITHOUT ROWID;
CREATE INDEX jobs_partition ON jobs (partition_no);
CREATE INDEX triggers_listed ON triggers (source, subject, created, trigger_key);
CREATE INDEX triggers_open ON triggers (source, subject) WHERE status IN ('waiting', 'delivering');

-- +goose Up
-- Jobs that were made at run time, and which jobs of the file are paused.
CREATE TABLE jobs (
    id           TEXT COLLATE "C" NOT NULL,
    origin       TEXT COLLATE "C" NOT NULL,
    revision     BIGINT NOT NULL,
    partition_no INTEGER NOT NULL,
    level        SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    session_id   TEXT COLLATE "C" NOT NULL,
    body         TEXT NOT NULL,
    created      BIGINT NOT NULL,
    changed      BIGINT NOT NULL,
    PRIMARY KEY (id, origin)
);
CREATE INDEX jobs_partition ON jobs (partition_no);
CREATE INDEX triggers_listed ON triggers (source, subject, created, trigger_key);
CREATE INDEX triggers_open ON triggers (source, subject) WHERE status IN ('waiting', 'delivering');

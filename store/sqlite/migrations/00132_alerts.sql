-- +goose Up
-- Alerts: what somebody should know and answer for.
CREATE TABLE alerts (
    alert_key TEXT PRIMARY KEY,
    revision  INTEGER NOT NULL,
    status    TEXT NOT NULL,
    severity  TEXT NOT NULL,
    source    TEXT NOT NULL,
    level     INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust     INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body      TEXT NOT NULL,
    started   INTEGER NOT NULL,
    ends      INTEGER NOT NULL,
    updated   INTEGER NOT NULL,
    ended     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX alerts_started ON alerts (started, alert_key);
CREATE INDEX alerts_open ON alerts (started, alert_key) WHERE status IN ('firing', 'acknowledged');
CREATE INDEX alerts_ended ON alerts (ended) WHERE ended > 0;

-- Alerts that are reported together. The owner of the partition looks at the open ones when they are due.
CREATE TABLE alert_groups (
    group_key    TEXT PRIMARY KEY,
    revision     INTEGER NOT NULL,
    partition_no INTEGER NOT NULL,
    open         INTEGER NOT NULL,
    due          INTEGER NOT NULL,
    earliest     INTEGER NOT NULL,
    level        INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body         TEXT NOT NULL,
    created      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX alert_groups_due ON alert_groups (partition_no, due) WHERE open = 1;
CREATE INDEX alert_groups_closed ON alert_groups (due) WHERE open = 0;

CREATE TABLE alert_members (
    group_key TEXT NOT NULL,
    alert_key TEXT NOT NULL,
    PRIMARY KEY (group_key, alert_key)
) WITHOUT ROWID;

-- What groups said to targets, and why. Waiting ones are in the next digest of their target.
CREATE TABLE alert_notes (
    note_key    TEXT PRIMARY KEY,
    group_key   TEXT NOT NULL,
    target      TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    status      TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    level       INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust       INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body        TEXT NOT NULL,
    created     INTEGER NOT NULL,
    posts       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX alert_notes_group ON alert_notes (group_key, seq);
CREATE INDEX alert_notes_waiting ON alert_notes (target, created, note_key) WHERE status = 'waiting';
CREATE INDEX alert_notes_posts ON alert_notes (target, created) WHERE posts = 1;
CREATE INDEX alert_notes_created ON alert_notes (created);

CREATE TABLE silences (
    id       TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    starts   INTEGER NOT NULL,
    ends     INTEGER NOT NULL,
    updated  INTEGER NOT NULL,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX silences_ends ON silences (ends, id);

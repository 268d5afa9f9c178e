-- +goose Up
-- Alerts: what somebody should know and answer for.
CREATE TABLE alerts (
    alert_key TEXT COLLATE "C" PRIMARY KEY,
    revision  BIGINT NOT NULL,
    status    TEXT COLLATE "C" NOT NULL,
    severity  TEXT COLLATE "C" NOT NULL,
    source    TEXT NOT NULL,
    level     SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust     SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body      TEXT NOT NULL,
    started   BIGINT NOT NULL,
    ends      BIGINT NOT NULL,
    updated   BIGINT NOT NULL,
    ended     BIGINT NOT NULL
);
CREATE INDEX alerts_started ON alerts (started, alert_key);
CREATE INDEX alerts_open ON alerts (started, alert_key) WHERE status IN ('firing', 'acknowledged');
CREATE INDEX alerts_ended ON alerts (ended) WHERE ended > 0;

-- Alerts that are reported together. The owner of the partition looks at the open ones when they are due.
CREATE TABLE alert_groups (
    group_key    TEXT COLLATE "C" PRIMARY KEY,
    revision     BIGINT NOT NULL,
    partition_no INTEGER NOT NULL,
    open         SMALLINT NOT NULL,
    due          BIGINT NOT NULL,
    earliest     BIGINT NOT NULL,
    level        SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body         TEXT NOT NULL,
    created      BIGINT NOT NULL
);
CREATE INDEX alert_groups_due ON alert_groups (partition_no, due) WHERE open = 1;
CREATE INDEX alert_groups_closed ON alert_groups (due) WHERE open = 0;

CREATE TABLE alert_members (
    group_key TEXT COLLATE "C" NOT NULL,
    alert_key TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (group_key, alert_key)
);

-- What groups said to targets, and why. Waiting ones are in the next digest of their target.
CREATE TABLE alert_notes (
    note_key    TEXT COLLATE "C" PRIMARY KEY,
    group_key   TEXT COLLATE "C" NOT NULL,
    target      TEXT COLLATE "C" NOT NULL,
    seq         BIGINT NOT NULL,
    reason      TEXT COLLATE "C" NOT NULL,
    status      TEXT COLLATE "C" NOT NULL,
    delivery_id TEXT NOT NULL,
    level       SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust       SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body        TEXT NOT NULL,
    created     BIGINT NOT NULL,
    posts       SMALLINT NOT NULL
);
CREATE INDEX alert_notes_group ON alert_notes (group_key, seq);
CREATE INDEX alert_notes_waiting ON alert_notes (target, created, note_key) WHERE status = 'waiting';
CREATE INDEX alert_notes_posts ON alert_notes (target, created) WHERE posts = 1;
CREATE INDEX alert_notes_created ON alert_notes (created);

CREATE TABLE silences (
    id       TEXT COLLATE "C" PRIMARY KEY,
    revision BIGINT NOT NULL,
    starts   BIGINT NOT NULL,
    ends     BIGINT NOT NULL,
    updated  BIGINT NOT NULL,
    level    SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL
);
CREATE INDEX silences_ends ON silences (ends, id);

-- +goose Up
CREATE TABLE sessions (
    id            TEXT PRIMARY KEY,
    skey          TEXT NOT NULL,
    agent         TEXT NOT NULL,
    partition_no  INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    level         INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust         INTEGER NOT NULL CHECK (trust IN (0, 1)),
    clearance     INTEGER NOT NULL,
    route         TEXT NOT NULL,
    send_policy   TEXT NOT NULL,
    model         TEXT NOT NULL,
    head          TEXT NOT NULL,
    compacted     TEXT NOT NULL,
    title         TEXT NOT NULL,
    metadata      TEXT NOT NULL,
    file_access   TEXT NOT NULL,
    persistent    INTEGER NOT NULL,
    ttl           INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    context_size  INTEGER NOT NULL,
    aborted_last  INTEGER NOT NULL,
    created       INTEGER NOT NULL,
    last_activity INTEGER NOT NULL,
    ended         INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX sessions_live_key ON sessions (skey) WHERE ended = 0;
CREATE INDEX sessions_live_activity ON sessions (last_activity, id) WHERE ended = 0;
CREATE INDEX sessions_passing ON sessions (last_activity) WHERE ended = 0 AND persistent = 0;
CREATE INDEX sessions_capped ON sessions (created + ttl) WHERE ended = 0 AND ttl > 0;

CREATE TABLE messages (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    session_id    TEXT NOT NULL,
    parent        TEXT NOT NULL,
    run_id        TEXT NOT NULL,
    role          TEXT NOT NULL,
    parts         TEXT NOT NULL,
    level         INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust         INTEGER NOT NULL CHECK (trust IN (0, 1)),
    model         TEXT NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    created       INTEGER NOT NULL,
    sender        TEXT NOT NULL,
    revision      INTEGER NOT NULL
);
CREATE INDEX messages_session ON messages (session_id, seq);

CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    session_id    TEXT NOT NULL,
    partition_no  INTEGER NOT NULL,
    kind          TEXT NOT NULL,
    status        TEXT NOT NULL,
    input         TEXT NOT NULL,
    route         TEXT NOT NULL,
    level         INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust         INTEGER NOT NULL CHECK (trust IN (0, 1)),
    event_key     TEXT NOT NULL,
    leader        TEXT NOT NULL,
    epoch         INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    reply         TEXT NOT NULL,
    error         TEXT NOT NULL,
    model         TEXT NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    accepted      INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    finished      INTEGER NOT NULL,
    abort_asked   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_open ON runs (session_id, seq, partition_no) WHERE status IN ('queued', 'running');
CREATE INDEX runs_session ON runs (session_id, seq);
CREATE INDEX runs_undone ON runs (status, seq) WHERE status NOT IN ('done', 'queued', 'running');

CREATE TABLE events (
    event_key  TEXT PRIMARY KEY,
    outcome    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    run_id     TEXT NOT NULL,
    notice_id  TEXT NOT NULL,
    accepted   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE deliveries (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    lane         TEXT NOT NULL,
    partition_no INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    channel      TEXT NOT NULL,
    route        TEXT NOT NULL,
    body         TEXT NOT NULL,
    level        INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        INTEGER NOT NULL CHECK (trust IN (0, 1)),
    session_id   TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    idempotency  TEXT NOT NULL,
    resend_of    TEXT NOT NULL,
    status       TEXT NOT NULL,
    epoch        INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    next_try     INTEGER NOT NULL,
    expires      INTEGER NOT NULL,
    chunks       TEXT NOT NULL,
    receipts     TEXT NOT NULL,
    preview_id   TEXT NOT NULL,
    decision     TEXT NOT NULL,
    last_error   TEXT NOT NULL,
    created      INTEGER NOT NULL,
    finished     INTEGER NOT NULL
);
CREATE INDEX deliveries_open ON deliveries (lane, seq, partition_no) WHERE status IN ('queued', 'sending');
CREATE UNIQUE INDEX deliveries_idempotency ON deliveries (idempotency) WHERE idempotency <> '';
CREATE INDEX deliveries_preview ON deliveries (run_id) WHERE status IN ('preview', '');
CREATE INDEX deliveries_session ON deliveries (session_id, seq) WHERE kind <> 'reply';
CREATE INDEX deliveries_undone ON deliveries (status, seq) WHERE status NOT IN ('sent', 'discarded');

CREATE TABLE history (
    seq    INTEGER PRIMARY KEY,
    lane   TEXT NOT NULL,
    at     INTEGER NOT NULL,
    sender TEXT NOT NULL,
    body   TEXT NOT NULL,
    level  INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust  INTEGER NOT NULL CHECK (trust IN (0, 1))
);
CREATE INDEX history_lane ON history (lane, seq);

CREATE TABLE pairings (
    channel      TEXT NOT NULL,
    account      TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    person       TEXT NOT NULL,
    conversation TEXT NOT NULL,
    code         TEXT NOT NULL,
    status       TEXT NOT NULL,
    created      INTEGER NOT NULL,
    expires      INTEGER NOT NULL,
    PRIMARY KEY (channel, account, user_id)
) WITHOUT ROWID;
CREATE INDEX pairings_status ON pairings (status, created);

CREATE TABLE aliases (
    channel  TEXT NOT NULL,
    account  TEXT NOT NULL,
    known_as TEXT NOT NULL,
    older    TEXT NOT NULL,
    PRIMARY KEY (channel, account, known_as)
) WITHOUT ROWID;

CREATE TABLE partitions (
    id    INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    owner TEXT NOT NULL
);

CREATE TABLE audit (
    seq        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    detail     TEXT NOT NULL
);
CREATE INDEX audit_session ON audit (session_id, seq);
CREATE INDEX audit_action ON audit (action, seq);

-- What Ready writes after a fault, to see whether it is over.
CREATE TABLE probe (
    id    INTEGER PRIMARY KEY,
    count INTEGER NOT NULL
);

-- The planner can't know that few runs are open, and would look for them among
-- all runs of their session. These numbers tell it; ANALYZE replaces them by true ones.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('runs', 'runs_session', '1000000 500 1'),
    ('runs', 'runs_open', '100 2 1 1');

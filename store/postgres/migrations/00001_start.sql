-- +goose Up
CREATE TABLE sessions (
    id            TEXT COLLATE "C" PRIMARY KEY,
    skey          TEXT COLLATE "C" NOT NULL,
    agent         TEXT COLLATE "C" NOT NULL,
    partition_no  BIGINT NOT NULL,
    revision      BIGINT NOT NULL,
    level         BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust         BIGINT NOT NULL CHECK (trust IN (0, 1)),
    clearance     BIGINT NOT NULL,
    route         TEXT COLLATE "C" NOT NULL,
    send_policy   TEXT COLLATE "C" NOT NULL,
    model         TEXT COLLATE "C" NOT NULL,
    head          TEXT COLLATE "C" NOT NULL,
    compacted     TEXT COLLATE "C" NOT NULL,
    title         TEXT COLLATE "C" NOT NULL,
    metadata      TEXT COLLATE "C" NOT NULL,
    file_access   TEXT COLLATE "C" NOT NULL,
    persistent    BIGINT NOT NULL,
    ttl           BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    context_size  BIGINT NOT NULL,
    aborted_last  BIGINT NOT NULL,
    created       BIGINT NOT NULL,
    last_activity BIGINT NOT NULL,
    ended         BIGINT NOT NULL
);
CREATE UNIQUE INDEX sessions_live_key ON sessions (skey) WHERE ended = 0;
CREATE INDEX sessions_live_activity ON sessions (last_activity, id) WHERE ended = 0;
CREATE INDEX sessions_passing ON sessions (last_activity) WHERE ended = 0 AND persistent = 0;
CREATE INDEX sessions_capped ON sessions ((created + ttl)) WHERE ended = 0 AND ttl > 0;

CREATE TABLE messages (
    seq           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    session_id    TEXT COLLATE "C" NOT NULL,
    parent        TEXT COLLATE "C" NOT NULL,
    run_id        TEXT COLLATE "C" NOT NULL,
    role          TEXT COLLATE "C" NOT NULL,
    parts         TEXT COLLATE "C" NOT NULL,
    level         BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust         BIGINT NOT NULL CHECK (trust IN (0, 1)),
    model         TEXT COLLATE "C" NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    created       BIGINT NOT NULL,
    sender        TEXT COLLATE "C" NOT NULL,
    revision      BIGINT NOT NULL
);
CREATE INDEX messages_session ON messages (session_id, seq);

CREATE TABLE runs (
    seq           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    session_id    TEXT COLLATE "C" NOT NULL,
    partition_no  BIGINT NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL,
    status        TEXT COLLATE "C" NOT NULL,
    input         TEXT COLLATE "C" NOT NULL,
    route         TEXT COLLATE "C" NOT NULL,
    level         BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust         BIGINT NOT NULL CHECK (trust IN (0, 1)),
    event_key     TEXT COLLATE "C" NOT NULL,
    leader        TEXT COLLATE "C" NOT NULL,
    epoch         BIGINT NOT NULL,
    attempts      BIGINT NOT NULL,
    reply         TEXT COLLATE "C" NOT NULL,
    error         TEXT COLLATE "C" NOT NULL,
    model         TEXT COLLATE "C" NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    accepted      BIGINT NOT NULL,
    started       BIGINT NOT NULL,
    finished      BIGINT NOT NULL,
    abort_asked   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX runs_open ON runs (session_id, seq, partition_no) WHERE status IN ('queued', 'running');
CREATE INDEX runs_session ON runs (session_id, seq);
CREATE INDEX runs_undone ON runs (status, seq) WHERE status NOT IN ('done', 'queued', 'running');

CREATE TABLE events (
    event_key  TEXT COLLATE "C" PRIMARY KEY,
    outcome    TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    notice_id  TEXT COLLATE "C" NOT NULL,
    accepted   BIGINT NOT NULL
);

CREATE TABLE deliveries (
    seq          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           TEXT COLLATE "C" NOT NULL UNIQUE,
    lane         TEXT COLLATE "C" NOT NULL,
    partition_no BIGINT NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    channel      TEXT COLLATE "C" NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    body         TEXT COLLATE "C" NOT NULL,
    level        BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust        BIGINT NOT NULL CHECK (trust IN (0, 1)),
    session_id   TEXT COLLATE "C" NOT NULL,
    run_id       TEXT COLLATE "C" NOT NULL,
    idempotency  TEXT COLLATE "C" NOT NULL,
    resend_of    TEXT COLLATE "C" NOT NULL,
    status       TEXT COLLATE "C" NOT NULL,
    epoch        BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    next_try     BIGINT NOT NULL,
    expires      BIGINT NOT NULL,
    chunks       TEXT COLLATE "C" NOT NULL,
    receipts     TEXT COLLATE "C" NOT NULL,
    preview_id   TEXT COLLATE "C" NOT NULL,
    decision     TEXT COLLATE "C" NOT NULL,
    last_error   TEXT COLLATE "C" NOT NULL,
    created      BIGINT NOT NULL,
    finished     BIGINT NOT NULL
);
CREATE INDEX deliveries_open ON deliveries (lane, seq, partition_no) WHERE status IN ('queued', 'sending');
CREATE UNIQUE INDEX deliveries_idempotency ON deliveries (idempotency) WHERE idempotency <> '';
CREATE INDEX deliveries_preview ON deliveries (run_id) WHERE status IN ('preview', '');
CREATE INDEX deliveries_session ON deliveries (session_id, seq) WHERE kind <> 'reply';
CREATE INDEX deliveries_undone ON deliveries (status, seq) WHERE status NOT IN ('sent', 'discarded');

CREATE TABLE history (
    seq    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lane   TEXT COLLATE "C" NOT NULL,
    at     BIGINT NOT NULL,
    sender TEXT COLLATE "C" NOT NULL,
    body   TEXT COLLATE "C" NOT NULL,
    level  BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust  BIGINT NOT NULL CHECK (trust IN (0, 1))
);
CREATE INDEX history_lane ON history (lane, seq);

CREATE TABLE pairings (
    channel      TEXT COLLATE "C" NOT NULL,
    account      TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    person       TEXT COLLATE "C" NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL,
    code         TEXT COLLATE "C" NOT NULL,
    status       TEXT COLLATE "C" NOT NULL,
    created      BIGINT NOT NULL,
    expires      BIGINT NOT NULL,
    PRIMARY KEY (channel, account, user_id)
);
CREATE INDEX pairings_status ON pairings (status, created);

CREATE TABLE aliases (
    channel  TEXT COLLATE "C" NOT NULL,
    account  TEXT COLLATE "C" NOT NULL,
    known_as TEXT COLLATE "C" NOT NULL,
    older    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (channel, account, known_as)
);

CREATE TABLE partitions (
    id    BIGINT PRIMARY KEY,
    epoch BIGINT NOT NULL,
    owner TEXT COLLATE "C" NOT NULL
);

CREATE TABLE audit (
    seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         BIGINT NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL,
    action     TEXT COLLATE "C" NOT NULL,
    object     TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    level      BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      BIGINT NOT NULL CHECK (trust IN (0, 1)),
    detail     TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_session ON audit (session_id, seq);
CREATE INDEX audit_action ON audit (action, seq);

-- What Ready writes after a fault, to see whether it is over.
CREATE TABLE probe (
    id    BIGINT PRIMARY KEY,
    count BIGINT NOT NULL
);

-- Code generated from the migrations by "go generate ./store/sqlite". DO NOT EDIT.

CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
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
, group_activation TEXT NOT NULL DEFAULT '', thinking_level TEXT NOT NULL DEFAULT '', verbose_level TEXT NOT NULL DEFAULT '', label TEXT NOT NULL DEFAULT '', spawned_by TEXT NOT NULL DEFAULT '', queue_mode TEXT NOT NULL DEFAULT '', model_said TEXT NOT NULL DEFAULT '', title_said TEXT NOT NULL DEFAULT '', label_said TEXT NOT NULL DEFAULT '', temperature TEXT NOT NULL DEFAULT '', max_output_tokens INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0, voice INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
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
, exchange_id TEXT NOT NULL DEFAULT '', chain TEXT NOT NULL DEFAULT '', timeout INTEGER NOT NULL DEFAULT 0, calls TEXT NOT NULL DEFAULT '');
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
, sent_at INTEGER NOT NULL DEFAULT 0, lost_preview TEXT NOT NULL DEFAULT '', buttons TEXT NOT NULL DEFAULT '', files TEXT NOT NULL DEFAULT '', controls TEXT NOT NULL DEFAULT '', asks TEXT NOT NULL DEFAULT '', revises TEXT NOT NULL DEFAULT '');
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
, message_id TEXT NOT NULL DEFAULT '', quotations TEXT NOT NULL DEFAULT '');
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
CREATE TABLE probe (
    id    INTEGER PRIMARY KEY,
    count INTEGER NOT NULL
);
CREATE INDEX deliveries_files ON deliveries (seq) WHERE files <> '' AND status NOT IN ('sent', 'discarded');
CREATE TABLE media (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    name       TEXT NOT NULL,
    mime       TEXT NOT NULL,
    size       INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    content    BLOB NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    created    INTEGER NOT NULL);
CREATE TABLE revisions (
    lane       TEXT NOT NULL,
    message_id TEXT NOT NULL,
    run_id     TEXT NOT NULL,
    PRIMARY KEY (lane, message_id)
) WITHOUT ROWID;
CREATE TABLE bot_turns (
    place   TEXT PRIMARY KEY,
    turns   TEXT NOT NULL,
    stopped INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE direct_peers (
    channel      TEXT NOT NULL,
    account      TEXT NOT NULL,
    conversation TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    PRIMARY KEY (channel, account, conversation)
) WITHOUT ROWID;
CREATE INDEX messages_tree ON messages (session_id, parent, seq) WHERE role <> 'summary';
CREATE INDEX messages_summaries ON messages (session_id, parent, seq) WHERE role = 'summary';
CREATE INDEX sessions_spawned ON sessions (spawned_by) WHERE spawned_by <> '' AND ended = 0;
CREATE TABLE exchanges (
    id        TEXT PRIMARY KEY,
    revision  INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    requester TEXT NOT NULL,
    target    TEXT NOT NULL,
    first_run TEXT NOT NULL,
    run_id    TEXT NOT NULL,
    body      TEXT NOT NULL,
    route     TEXT NOT NULL,
    chain     TEXT NOT NULL,
    level     INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust     INTEGER NOT NULL CHECK (trust IN (0, 1)),
    started   INTEGER NOT NULL,
    ended     INTEGER NOT NULL
, request_key TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE INDEX exchanges_requester ON exchanges (requester, started);
CREATE INDEX exchanges_target ON exchanges (target, started);
CREATE TABLE chains (
    id      TEXT PRIMARY KEY,
    steps   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    started INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE cursors (
    account TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (account, name)
) WITHOUT ROWID;
CREATE TABLE todos (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    text       TEXT NOT NULL,
    status     TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    created    INTEGER NOT NULL,
    place      INTEGER NOT NULL, -- among those that were created together
    updated    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX todos_session ON todos (session_id, created, place);
CREATE INDEX exchanges_open_requester ON exchanges (requester, started) WHERE ended = 0;
CREATE INDEX exchanges_open_target ON exchanges (target, started) WHERE ended = 0;
CREATE INDEX exchanges_open ON exchanges (started) WHERE ended = 0;
CREATE INDEX exchanges_started ON exchanges (started);
CREATE TABLE approvals (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    run_id     TEXT NOT NULL,
    agent      TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    tool       TEXT NOT NULL,
    args       TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    status     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    created    INTEGER NOT NULL,
    expires    INTEGER NOT NULL,
    decided    INTEGER NOT NULL
, why TEXT NOT NULL DEFAULT '', terms TEXT NOT NULL DEFAULT '{}', delivery_id TEXT NOT NULL DEFAULT '', reason_said TEXT NOT NULL DEFAULT '', channel TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE INDEX approvals_pending ON approvals (run_id) WHERE status = 'pending';
CREATE INDEX approvals_created ON approvals (created, id);
CREATE INDEX approvals_status ON approvals (status, created, id);
CREATE INDEX approvals_session ON approvals (session_id, created, id);
CREATE TABLE audit (
    chain      INTEGER NOT NULL,
    seq        INTEGER NOT NULL, -- 1, 2, 3 … in its chain
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    detail     TEXT NOT NULL,
    hash       TEXT NOT NULL, -- of the hash before it and all other columns
    PRIMARY KEY (chain, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_at ON audit (at, chain, seq);
CREATE INDEX audit_session ON audit (session_id, at, chain, seq);
CREATE INDEX audit_action ON audit (action, at, chain, seq);
CREATE TABLE audit_heads (
    chain INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    hash  TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
CREATE TRIGGER audit_append BEFORE INSERT ON audit
WHEN NEW.seq <= (SELECT seq FROM audit_heads WHERE chain = NEW.chain)
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
CREATE TRIGGER audit_heads_no_delete BEFORE DELETE ON audit_heads
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
CREATE TRIGGER audit_heads_forward BEFORE UPDATE ON audit_heads
WHEN NEW.chain <> OLD.chain OR NEW.seq <= OLD.seq
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
CREATE TRIGGER audit_heads_new BEFORE INSERT ON audit_heads
WHEN EXISTS (SELECT 1 FROM audit_heads WHERE chain = NEW.chain)
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
CREATE TABLE memory_namespaces (
    namespace TEXT PRIMARY KEY,
    no        INTEGER NOT NULL UNIQUE CHECK (no BETWEEN 1 AND 2047),
    saves     INTEGER NOT NULL CHECK (saves BETWEEN 0 AND 268435455)
) WITHOUT ROWID;
CREATE TABLE memory_audiences (
    namespace_no INTEGER NOT NULL,
    audience     TEXT NOT NULL,
    no           INTEGER NOT NULL CHECK (no BETWEEN 1 AND 16777215),
    PRIMARY KEY (namespace_no, audience)
) WITHOUT ROWID;
CREATE UNIQUE INDEX memory_audiences_no ON memory_audiences (namespace_no, no);
CREATE TABLE memories (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    namespace  TEXT NOT NULL,
    audience   TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    mkey       TEXT NOT NULL,
    content    TEXT NOT NULL,
    tags       TEXT NOT NULL,
    size       INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    run_id     TEXT NOT NULL,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL,
    expires    INTEGER NOT NULL, -- 0: never
    deleted    INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    ended      INTEGER NOT NULL, -- 0: not yet
    ending     TEXT NOT NULL
);
CREATE UNIQUE INDEX memories_current ON memories (namespace, mkey, audience, level) WHERE ended = 0;
CREATE INDEX memories_audience ON memories (namespace, audience, mkey, level) WHERE ended = 0;
CREATE INDEX memories_versions ON memories (namespace, mkey, audience, level, seq);
CREATE INDEX memories_expiring ON memories (expires, level, seq) WHERE ended = 0 AND expires > 0;
CREATE INDEX memories_ended ON memories (ended) WHERE ended > 0;
CREATE TABLE memory_usage (
    place   INTEGER NOT NULL,
    level   INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (place, level)
) WITHOUT ROWID;
CREATE TABLE memory_tags (
    tag TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (tag, seq)
) WITHOUT ROWID;
CREATE INDEX memory_tags_seq ON memory_tags (seq);
CREATE TABLE memory_veils (
    level   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    by_seq  INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (level, seq, by_seq)
) WITHOUT ROWID;
CREATE INDEX memory_veils_seq ON memory_veils (seq);
CREATE INDEX memory_veils_by ON memory_veils (by_seq);
CREATE VIRTUAL TABLE memory_words_1 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIRTUAL TABLE memory_words_2 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIRTUAL TABLE memory_words_3 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIRTUAL TABLE memory_words_4 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIEW memory_words AS SELECT 0 AS seq, 0 AS level, '' AS labels, '' AS body WHERE false;
CREATE TRIGGER memory_words_added INSTEAD OF INSERT ON memory_words BEGIN
    INSERT INTO memory_words_1 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 1;
    INSERT INTO memory_words_2 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 2;
    INSERT INTO memory_words_3 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 3;
    INSERT INTO memory_words_4 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 4;
END;
CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_usage (place, level, entries, bytes) VALUES (new.seq >> 28, new.level, new.ended = 0, new.size)
        ON CONFLICT (place, level) DO UPDATE SET entries = entries + excluded.entries, bytes = bytes + excluded.bytes;
    INSERT INTO memory_veils (level, seq, by_seq, expires)
        SELECT h.level, new.seq, h.seq, h.expires FROM memories h WHERE new.ended = 0 AND h.ended = 0
            AND h.namespace = new.namespace AND h.mkey = new.mkey AND h.audience = new.audience AND h.level > new.level;
    INSERT INTO memory_veils (level, seq, by_seq, expires)
        SELECT new.level, l.seq, new.seq, new.expires FROM memories l WHERE new.ended = 0 AND l.ended = 0
            AND l.namespace = new.namespace AND l.mkey = new.mkey AND l.audience = new.audience AND l.level < new.level;
END;
CREATE TRIGGER memories_over AFTER UPDATE OF ended ON memories WHEN old.ended = 0 AND new.ended > 0 BEGIN
    UPDATE memory_usage SET entries = entries - 1 WHERE place = old.seq >> 28 AND level = old.level;
    DELETE FROM memory_tags WHERE seq = old.seq;
    DELETE FROM memory_veils WHERE seq = old.seq;
    DELETE FROM memory_veils WHERE by_seq = old.seq;
    DELETE FROM memory_words_1 WHERE rowid = old.seq AND old.level = 1;
    DELETE FROM memory_words_2 WHERE rowid = old.seq AND old.level = 2;
    DELETE FROM memory_words_3 WHERE rowid = old.seq AND old.level = 3;
    DELETE FROM memory_words_4 WHERE rowid = old.seq AND old.level = 4;
END;
CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
    UPDATE memory_usage SET bytes = bytes - old.size WHERE place = old.seq >> 28 AND level = old.level;
END;
CREATE INDEX runs_leader ON runs (leader) WHERE leader <> '';
CREATE INDEX deliveries_asks ON deliveries (seq) WHERE asks <> '';
CREATE INDEX events_telling ON events (accepted) WHERE run_id = '' AND (session_id <> '' OR notice_id <> '');
CREATE INDEX media_created ON media (created);
CREATE INDEX exchanges_key ON exchanges (request_key) WHERE request_key <> '';
CREATE INDEX exchanges_telling ON exchanges (ended, id) WHERE ended > 0 AND chain <> '';
CREATE INDEX chains_started ON chains (started, id);
CREATE INDEX revisions_run ON revisions (run_id);
CREATE INDEX sessions_archived ON sessions (ended, id) WHERE ended > 0 AND spawned_by <> '';
CREATE INDEX sessions_ended ON sessions (last_activity, id) WHERE ended > 0 AND spawned_by = '';
CREATE INDEX deliveries_owed ON deliveries (session_id) WHERE status IN ('held', 'blocked', 'failed', 'unknown', 'expired');
CREATE INDEX media_session ON media (session_id, size);
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
CREATE INDEX triggers_history ON triggers (source, subject, ended, trigger_key) WHERE ended > 0;
CREATE INDEX triggers_ended ON triggers (ended) WHERE ended > 0;
CREATE TABLE hook_requests (
    id         TEXT PRIMARY KEY,
    hook       TEXT NOT NULL,
    request_id TEXT NOT NULL,
    once       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    level      INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body       TEXT NOT NULL,
    received   INTEGER NOT NULL,
    payload    BLOB NOT NULL
);
CREATE UNIQUE INDEX hook_requests_once ON hook_requests (hook, once) WHERE once <> '';
CREATE INDEX hook_requests_history ON hook_requests (hook, received, id);
CREATE INDEX hook_requests_age ON hook_requests (received);
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
, ref TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE INDEX alerts_started ON alerts (started, alert_key);
CREATE INDEX alerts_open ON alerts (started, alert_key) WHERE status IN ('firing', 'acknowledged');
CREATE INDEX alerts_ended ON alerts (ended) WHERE ended > 0;
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
CREATE TABLE checks (
    name     TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL,
    looked   INTEGER NOT NULL
);
CREATE INDEX checks_age ON checks (looked);
CREATE INDEX triggers_due ON triggers (partition_no, due) WHERE status IN ('waiting', 'running', 'delivering');
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
CREATE INDEX triggers_open ON triggers (source, subject) WHERE status IN ('waiting', 'running', 'delivering');
CREATE TABLE nodes (
    id       TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    status   TEXT NOT NULL,
    code     TEXT NOT NULL,
    token    TEXT NOT NULL UNIQUE,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    INTEGER NOT NULL CHECK (trust IN (0, 1)),
    body     TEXT NOT NULL,
    created  INTEGER NOT NULL,
    expires  INTEGER NOT NULL,
    changed  INTEGER NOT NULL
);
CREATE INDEX nodes_changed ON nodes (changed);
CREATE INDEX runs_exchange ON runs (exchange_id, seq) WHERE exchange_id <> '';
CREATE INDEX sessions_archived_key ON sessions (skey) WHERE archived = 1;
CREATE TABLE file_marks (
    agent TEXT NOT NULL,
    path  TEXT NOT NULL,
    PRIMARY KEY (agent, path)
);
CREATE TABLE skill_pins (
    agent     TEXT NOT NULL,
    name      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    level     INTEGER NOT NULL,
    trust     INTEGER NOT NULL,
    source    TEXT NOT NULL,
    pinned_by TEXT NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (agent, name)
);
CREATE TABLE model_cooldowns (
    provider TEXT NOT NULL,
    api_key  TEXT NOT NULL,
    model    TEXT NOT NULL,
    mark     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    step     INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    ends     INTEGER NOT NULL,
    probed   INTEGER NOT NULL,
    PRIMARY KEY (provider, api_key, model)
);
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
CREATE TABLE api_tokens (
    id      TEXT PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    sum     TEXT NOT NULL UNIQUE,
    role    TEXT NOT NULL,
    level   INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    made_by TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL
);
CREATE TABLE sign_ins (
    id       TEXT PRIMARY KEY,
    token    TEXT NOT NULL,
    print    TEXT NOT NULL,
    link     TEXT NOT NULL,
    cookie   TEXT NOT NULL,
    page_key TEXT NOT NULL,
    address  TEXT NOT NULL,
    agent    TEXT NOT NULL,
    created  INTEGER NOT NULL,
    expires  INTEGER NOT NULL
);
CREATE UNIQUE INDEX sign_ins_cookie ON sign_ins (cookie) WHERE cookie <> '';
CREATE UNIQUE INDEX sign_ins_link ON sign_ins (link) WHERE link <> '';
CREATE INDEX sign_ins_token ON sign_ins (token, created);
CREATE TABLE api_uses (
    subject TEXT PRIMARY KEY,
    used    INTEGER NOT NULL
);
CREATE TABLE refusals (
    id        TEXT PRIMARY KEY,
    channel   TEXT NOT NULL,
    account   TEXT NOT NULL,
    chat_type TEXT NOT NULL,
    chat      TEXT NOT NULL,
    title     TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    user_name TEXT NOT NULL,
    reason    TEXT NOT NULL,
    level     INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    times     INTEGER NOT NULL,
    first     INTEGER NOT NULL,
    last      INTEGER NOT NULL
);
CREATE INDEX refusals_last ON refusals (last, id);
CREATE TABLE alert_budgets (
    target   TEXT PRIMARY KEY,
    revision INTEGER NOT NULL
);
CREATE INDEX alerts_ref ON alerts (ref) WHERE status IN ('firing', 'acknowledged');
CREATE INDEX nodes_pending ON nodes (expires) WHERE status = 'pending';
CREATE TABLE allow_rules (
    id       TEXT PRIMARY KEY,
    agent    TEXT NOT NULL,
    tool     TEXT NOT NULL,
    args     TEXT NOT NULL, -- a pattern
    terms    TEXT NOT NULL,
    level    INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust    INTEGER NOT NULL CHECK (trust IN (0, 1)),
    approval TEXT NOT NULL,
    made_by  TEXT NOT NULL,
    created  INTEGER NOT NULL
);
CREATE INDEX allow_rules_call ON allow_rules (agent, tool, created, id);
CREATE TABLE schema_compatible (since INTEGER NOT NULL);
CREATE INDEX deliveries_run ON deliveries (run_id, seq);
CREATE TABLE limit_windows (
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    level   INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    started INTEGER NOT NULL,
    used    INTEGER NOT NULL,
    PRIMARY KEY (kind, name, level)
) WITHOUT ROWID;
CREATE INDEX limit_windows_started ON limit_windows (started);
CREATE INDEX alert_groups_opened ON alert_groups (created, group_key) WHERE open = 1;
CREATE INDEX approvals_waiting ON approvals (status, expires, id);
CREATE INDEX approvals_channel_waiting ON approvals (channel, status, expires, id);
CREATE INDEX approvals_channel ON approvals (channel, created, id);
CREATE INDEX approvals_messages ON approvals (created, id) WHERE delivery_id <> '';
CREATE INDEX triggers_failed ON triggers (source, ended) WHERE status IN ('failed', 'undelivered');

-- The first makes the table of statistics, the second reads it.
ANALYZE sqlite_schema;
INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (3, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (10, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (11, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (20, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (21, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (30, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (31, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (40, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (50, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (51, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (60, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (70, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (90, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (91, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (92, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (100, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (101, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (102, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (117, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (118, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (119, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (120, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (122, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (131, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (132, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (135, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (136, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (140, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (141, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (145, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (150, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (157, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (158, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (159, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (320, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (340, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (360, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (380, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (400, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (401, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (440, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (441, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (470, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (490, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (501, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (520, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (550, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (560, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (580, 1);
INSERT INTO schema_compatible (since) VALUES (490);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('runs', 'runs_session', '1000000 500 1');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('runs', 'runs_open', '100 2 1 1');
INSERT INTO audit_heads (chain, seq, hash) VALUES (0, 0, '');
ANALYZE sqlite_schema;

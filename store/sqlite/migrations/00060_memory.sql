-- +goose Up
-- What agents remember across sessions. A memory's seq is made of the number of its namespace, of its audience there,
-- and of the save: seq = namespace << 52 | audience << 28 | save. So each of them is one range of every index,
-- and what is read in one range costs and tells nothing of the others.
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

-- Each save and each deletion is a row, and no row's content ever changes. Of one namespace, audience, key and level one row
-- at most has not ended: the memory, or the tombstone of one that was deleted.
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

-- How much there is in one audience at one level, for the bounds. place is seq >> 28; bytes are those of all rows that are kept.
CREATE TABLE memory_usage (
    place   INTEGER NOT NULL,
    level   INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (place, level)
) WITHOUT ROWID;

-- The tags of what has not ended.
CREATE TABLE memory_tags (
    tag TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (tag, seq)
) WITHOUT ROWID;
CREATE INDEX memory_tags_seq ON memory_tags (seq);

-- Which row is covered by which of a higher level under the same key, for sessions that see that level, until when (0: for ever).
CREATE TABLE memory_veils (
    level   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    by_seq  INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (level, seq, by_seq)
) WITHOUT ROWID;
CREATE INDEX memory_veils_seq ON memory_veils (seq);
CREATE INDEX memory_veils_by ON memory_veils (by_seq);

-- The words of what has not ended, an index for each level. labels are those of the key and the tags.
CREATE VIRTUAL TABLE memory_words_1 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIRTUAL TABLE memory_words_2 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIRTUAL TABLE memory_words_3 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIRTUAL TABLE memory_words_4 USING fts5(labels, body, content = '', contentless_delete = 1, detail = column, tokenize = "porter unicode61 categories 'L* N* Mn Mc'");
CREATE VIEW memory_words AS SELECT 0 AS seq, 0 AS level, '' AS labels, '' AS body WHERE false;

-- +goose StatementBegin
CREATE TRIGGER memory_words_added INSTEAD OF INSERT ON memory_words BEGIN
    INSERT INTO memory_words_1 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 1;
    INSERT INTO memory_words_2 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 2;
    INSERT INTO memory_words_3 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 3;
    INSERT INTO memory_words_4 (rowid, labels, body) SELECT new.seq, new.labels, new.body WHERE new.level = 4;
END;
-- +goose StatementEnd

-- +goose StatementBegin
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
-- +goose StatementEnd

-- +goose StatementBegin
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
    UPDATE memory_usage SET bytes = bytes - old.size WHERE place = old.seq >> 28 AND level = old.level;
END;
-- +goose StatementEnd

-- +goose Up
-- What agents remember across sessions. A memory's seq is made of the number of its namespace, of its audience there,
-- and of the save: seq = namespace << 52 | audience << 28 | save. So each of them is one range of every index,
-- and what is read in one range tells nothing of the others.
CREATE TABLE memory_namespaces (
    namespace TEXT COLLATE "C" PRIMARY KEY,
    no        BIGINT NOT NULL UNIQUE CHECK (no BETWEEN 1 AND 2047),
    saves     BIGINT NOT NULL CHECK (saves BETWEEN 0 AND 268435455)
);
CREATE TABLE memory_audiences (
    namespace_no BIGINT NOT NULL,
    audience     TEXT COLLATE "C" NOT NULL,
    no           BIGINT NOT NULL CHECK (no BETWEEN 1 AND 16777215),
    PRIMARY KEY (namespace_no, audience)
);
CREATE UNIQUE INDEX memory_audiences_no ON memory_audiences (namespace_no, no);

-- Each save and each deletion is a row, and no row's content ever changes. Of one namespace, audience, key and level one row
-- at most has not ended: the memory, or the tombstone of one that was deleted.
CREATE TABLE memories (
    seq        BIGINT PRIMARY KEY,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    namespace  TEXT COLLATE "C" NOT NULL,
    audience   TEXT COLLATE "C" NOT NULL,
    level      SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      SMALLINT NOT NULL CHECK (trust IN (0, 1)),
    mkey       TEXT COLLATE "C" NOT NULL,
    content    TEXT COLLATE "C" NOT NULL,
    tags       TEXT COLLATE "C" NOT NULL,
    size       BIGINT NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    created    BIGINT NOT NULL,
    updated    BIGINT NOT NULL,
    expires    BIGINT NOT NULL, -- 0: never
    deleted    SMALLINT NOT NULL CHECK (deleted IN (0, 1)),
    ended      BIGINT NOT NULL, -- 0: not yet
    ending     TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX memories_current ON memories (namespace, mkey, audience, level) WHERE ended = 0;
CREATE INDEX memories_audience ON memories (namespace, audience, mkey, level) WHERE ended = 0;
CREATE INDEX memories_versions ON memories (namespace, mkey, audience, level, seq);
CREATE INDEX memories_expiring ON memories (expires, level, seq) WHERE ended = 0 AND expires > 0;
CREATE INDEX memories_ended ON memories (ended) WHERE ended > 0;

-- How much there is in one audience at one level, for the bounds. place is seq >> 28; bytes are those of all rows that are kept.
CREATE TABLE memory_usage (
    place   BIGINT NOT NULL,
    level   SMALLINT NOT NULL,
    entries BIGINT NOT NULL,
    bytes   BIGINT NOT NULL,
    PRIMARY KEY (place, level)
);

-- The tags of what has not ended.
CREATE TABLE memory_tags (
    tag TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (tag, seq)
);
CREATE INDEX memory_tags_seq ON memory_tags (seq);

-- Which row is covered by which of a higher level under the same key, for sessions that see that level, until when (0: for ever).
CREATE TABLE memory_veils (
    level   SMALLINT NOT NULL,
    seq     BIGINT NOT NULL,
    by_seq  BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    PRIMARY KEY (level, seq, by_seq)
);
CREATE INDEX memory_veils_seq ON memory_veils (seq);
CREATE INDEX memory_veils_by ON memory_veils (by_seq);

-- The words of what has not ended, indexes for each level. Without fastupdate no search pays for the saves before it. labels are those of the key and the tags.
CREATE TABLE memory_words (
    seq    BIGINT PRIMARY KEY,
    level  SMALLINT NOT NULL,
    labels TSVECTOR NOT NULL,
    body   TSVECTOR NOT NULL
);
CREATE INDEX memory_words_labels_1 ON memory_words USING gin (labels) WITH (fastupdate = off) WHERE level = 1;
CREATE INDEX memory_words_labels_2 ON memory_words USING gin (labels) WITH (fastupdate = off) WHERE level = 2;
CREATE INDEX memory_words_labels_3 ON memory_words USING gin (labels) WITH (fastupdate = off) WHERE level = 3;
CREATE INDEX memory_words_labels_4 ON memory_words USING gin (labels) WITH (fastupdate = off) WHERE level = 4;
CREATE INDEX memory_words_body_1 ON memory_words USING gin (body) WITH (fastupdate = off) WHERE level = 1;
CREATE INDEX memory_words_body_2 ON memory_words USING gin (body) WITH (fastupdate = off) WHERE level = 2;
CREATE INDEX memory_words_body_3 ON memory_words USING gin (body) WITH (fastupdate = off) WHERE level = 3;
CREATE INDEX memory_words_body_4 ON memory_words USING gin (body) WITH (fastupdate = off) WHERE level = 4;

-- A word's stem. The program has taken words out of texts already, so that no parser, which would
-- know web addresses and hyphens in its own way, looks at them.
-- +goose StatementBegin
CREATE FUNCTION memory_stem(word TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce((ts_lexize('pg_catalog.english_stem', word))[1], word)
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION memory_lexemes(words TEXT) RETURNS TSVECTOR LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(coalesce(array_agg(DISTINCT memory_stem(w)), '{}')) FROM unnest(string_to_array(words, ' ')) w WHERE w <> ''
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION memory_query(word TEXT) RETURNS TSQUERY LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('''' || replace(replace(memory_stem(word), '\', '\\'), '''', '''''') || '''')::tsquery
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION memories_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory_usage (place, level, entries, bytes) VALUES (new.seq >> 28, new.level, CASE new.ended WHEN 0 THEN 1 ELSE 0 END, new.size)
        ON CONFLICT (place, level) DO UPDATE SET entries = memory_usage.entries + excluded.entries, bytes = memory_usage.bytes + excluded.bytes;
    IF new.ended = 0 THEN
        INSERT INTO memory_veils (level, seq, by_seq, expires)
            SELECT h.level, new.seq, h.seq, h.expires FROM memories h WHERE h.ended = 0
                AND h.namespace = new.namespace AND h.mkey = new.mkey AND h.audience = new.audience AND h.level > new.level;
        INSERT INTO memory_veils (level, seq, by_seq, expires)
            SELECT new.level, l.seq, new.seq, new.expires FROM memories l WHERE l.ended = 0
                AND l.namespace = new.namespace AND l.mkey = new.mkey AND l.audience = new.audience AND l.level < new.level;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_added AFTER INSERT ON memories FOR EACH ROW EXECUTE FUNCTION memories_added();

-- +goose StatementBegin
CREATE FUNCTION memories_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memory_usage SET entries = entries - 1 WHERE place = old.seq >> 28 AND level = old.level;
    DELETE FROM memory_tags WHERE seq = old.seq;
    DELETE FROM memory_veils WHERE seq = old.seq;
    DELETE FROM memory_veils WHERE by_seq = old.seq;
    DELETE FROM memory_words WHERE seq = old.seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_over AFTER UPDATE OF ended ON memories FOR EACH ROW WHEN (old.ended = 0 AND new.ended > 0) EXECUTE FUNCTION memories_over();

-- +goose StatementBegin
CREATE FUNCTION memories_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memory_usage SET bytes = bytes - old.size WHERE place = old.seq >> 28 AND level = old.level;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_removed AFTER DELETE ON memories FOR EACH ROW EXECUTE FUNCTION memories_removed();

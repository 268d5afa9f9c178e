-- +goose Up
-- The words of what has not ended: which memories of a level have a word. The key holds all that a search reads, and a scope
-- is one range of it, so that a word which very many have costs no look at their rows.
CREATE TABLE memory_postings (
    seq       BIGINT NOT NULL,
    level     SMALLINT NOT NULL,
    in_labels BOOLEAN NOT NULL, -- the key or a tag has it, else the content
    word      TEXT COLLATE "C" NOT NULL, -- its stem
    PRIMARY KEY (level, in_labels, word, seq)
);
INSERT INTO memory_postings (seq, level, in_labels, word)
    SELECT seq, level, true, unnest(tsvector_to_array(labels)) FROM memory_words
    UNION ALL SELECT seq, level, false, unnest(tsvector_to_array(body)) FROM memory_words;
CREATE INDEX memory_postings_seq ON memory_postings (seq);

DROP TABLE memory_words;
DROP FUNCTION memory_query;
DROP FUNCTION memory_lexemes;

CREATE VIEW memory_words AS SELECT 0::BIGINT AS seq, 0::SMALLINT AS level, ''::TEXT AS labels, ''::TEXT AS body WHERE false;

-- +goose StatementBegin
CREATE FUNCTION memory_words_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory_postings (seq, level, in_labels, word)
        SELECT DISTINCT new.seq, new.level, texts.in_labels, memory_stem(w)
        FROM (VALUES (true, new.labels), (false, new.body)) AS texts (in_labels, words), unnest(string_to_array(texts.words, ' ')) AS w
        WHERE w <> '';
    RETURN new;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memory_words_added INSTEAD OF INSERT ON memory_words FOR EACH ROW EXECUTE FUNCTION memory_words_added();

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION memories_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memory_usage SET entries = entries - 1 WHERE place = old.seq >> 28 AND level = old.level;
    DELETE FROM memory_tags WHERE seq = old.seq;
    DELETE FROM memory_veils WHERE seq = old.seq;
    DELETE FROM memory_veils WHERE by_seq = old.seq;
    DELETE FROM memory_postings WHERE seq = old.seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd

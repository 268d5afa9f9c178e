-- +goose Up
-- The audit trail becomes hash chains that are only ever added to. The next
-- migration moves the entries that there are into one.
DROP INDEX audit_session;
DROP INDEX audit_action;
ALTER TABLE audit RENAME TO audit_before;
ALTER INDEX audit_pkey RENAME TO audit_before_pkey;

CREATE TABLE audit (
    chain      BIGINT NOT NULL,
    seq        BIGINT NOT NULL, -- 1, 2, 3 … in its chain
    at         BIGINT NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL,
    action     TEXT COLLATE "C" NOT NULL,
    object     TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    level      BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      BIGINT NOT NULL CHECK (trust IN (0, 1)),
    detail     TEXT COLLATE "C" NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL, -- of the hash before it and all other columns
    PRIMARY KEY (chain, seq)
);
CREATE INDEX audit_at ON audit (at, chain, seq);
CREATE INDEX audit_session ON audit (session_id, at, chain, seq);
CREATE INDEX audit_action ON audit (action, at, chain, seq);

-- The newest entry of each chain. A transaction takes one that no other has just
-- now, so their number is how many can add to the trail at once.
CREATE TABLE audit_heads (
    chain BIGINT PRIMARY KEY,
    seq   BIGINT NOT NULL,
    hash  TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 20);
INSERT INTO audit_heads (chain, seq, hash) SELECT chain, 0, '' FROM generate_series(0, 31) AS chain;

-- +goose StatementBegin
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit trail is only added to'; END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_heads_stay BEFORE DELETE OR TRUNCATE ON audit_heads
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_heads_forward BEFORE UPDATE ON audit_heads
    FOR EACH ROW WHEN (NEW.chain <> OLD.chain OR NEW.seq <= OLD.seq) EXECUTE FUNCTION audit_refuse();

-- +goose Up
-- The audit trail becomes a hash chain that is only ever added to. The next
-- migration moves the entries that there are into it.
DROP INDEX audit_session;
DROP INDEX audit_action;
ALTER TABLE audit RENAME TO audit_before;

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

-- The newest entry of each chain. SQLite has one writer and one chain.
CREATE TABLE audit_heads (
    chain INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    hash  TEXT NOT NULL
) STRICT;
INSERT INTO audit_heads (chain, seq, hash) VALUES (0, 0, '');

-- +goose StatementBegin
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
-- +goose StatementEnd
-- INSERT OR REPLACE would delete a row without the trigger above.
-- +goose StatementBegin
CREATE TRIGGER audit_append BEFORE INSERT ON audit
WHEN NEW.seq <= (SELECT seq FROM audit_heads WHERE chain = NEW.chain)
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_heads_no_delete BEFORE DELETE ON audit_heads
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_heads_forward BEFORE UPDATE ON audit_heads
WHEN NEW.chain <> OLD.chain OR NEW.seq <= OLD.seq
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_heads_new BEFORE INSERT ON audit_heads
WHEN EXISTS (SELECT 1 FROM audit_heads WHERE chain = NEW.chain)
BEGIN SELECT RAISE(ABORT, 'the audit trail is only added to'); END;
-- +goose StatementEnd

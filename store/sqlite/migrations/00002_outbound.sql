-- +goose Up
ALTER TABLE deliveries ADD COLUMN sent_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN lost_preview TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN buttons TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN files TEXT NOT NULL DEFAULT '';
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
    created    INTEGER NOT NULL,
    expires    INTEGER NOT NULL
);
CREATE INDEX media_expires ON media (expires);

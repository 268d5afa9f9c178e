-- +goose Up
ALTER TABLE deliveries ADD COLUMN sent_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN lost_preview TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN buttons TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN files TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX deliveries_files ON deliveries (seq) WHERE files <> '' AND status NOT IN ('sent', 'discarded');

CREATE TABLE media (
    id         TEXT COLLATE "C" PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    mime       TEXT COLLATE "C" NOT NULL,
    size       BIGINT NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL,
    content    BYTEA NOT NULL,
    level      BIGINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    trust      BIGINT NOT NULL CHECK (trust IN (0, 1)),
    created    BIGINT NOT NULL,
    expires    BIGINT NOT NULL
);
CREATE INDEX media_expires ON media (expires);

-- +goose Up
-- Sessions of sub-agents whose time is over: nothing works in them, and their transcripts stay readable.
ALTER TABLE sessions ADD COLUMN archived BIGINT NOT NULL DEFAULT 0;
CREATE INDEX sessions_archived_key ON sessions (skey) WHERE archived = 1;

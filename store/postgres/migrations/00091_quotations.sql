-- +goose Up
-- Other people's words that a message of a group carries: what it forwards or answers. JSON; empty for none.
ALTER TABLE history ADD COLUMN quotations TEXT COLLATE "C" NOT NULL DEFAULT '';

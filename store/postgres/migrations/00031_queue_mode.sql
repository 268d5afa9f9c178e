-- +goose Up
-- Override of a session; empty follows the configuration.
ALTER TABLE sessions ADD COLUMN queue_mode TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Up
-- Overrides of a session; empty and 0 follow the agent.
ALTER TABLE sessions ADD COLUMN temperature TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN max_output_tokens INTEGER NOT NULL DEFAULT 0;

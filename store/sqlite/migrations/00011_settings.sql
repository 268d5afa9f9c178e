-- +goose Up
-- Overrides of a session; empty follows the agent.
ALTER TABLE sessions ADD COLUMN thinking_level TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN verbose_level TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN label TEXT NOT NULL DEFAULT '';

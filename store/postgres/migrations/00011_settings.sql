-- +goose Up
-- Overrides of a session; empty follows the agent.
ALTER TABLE sessions ADD COLUMN thinking_level TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN verbose_level TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN label TEXT COLLATE "C" NOT NULL DEFAULT '';

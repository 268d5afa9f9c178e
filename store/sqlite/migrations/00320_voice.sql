-- +goose Up
-- 1: people also get the session's replies as recordings.
ALTER TABLE sessions ADD COLUMN voice INTEGER NOT NULL DEFAULT 0;

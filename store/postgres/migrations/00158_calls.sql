-- +goose Up
-- The calls of the client's functions with which a run has ended.
ALTER TABLE runs ADD COLUMN calls TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Up
-- The runs that were worked together with another: those whose messages one answer answers.
CREATE INDEX runs_leader ON runs (leader) WHERE leader <> '';

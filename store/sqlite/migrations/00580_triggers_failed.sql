-- +goose Up
-- The jobs that have failed lately, which the overview counts. Ordinary triggers are never in this index.
CREATE INDEX triggers_failed ON triggers (source, ended) WHERE status IN ('failed', 'undelivered');

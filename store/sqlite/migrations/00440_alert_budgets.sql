-- +goose Up
-- How often something was posted to a target, so that replicas that count at the same time do not both post.
CREATE TABLE alert_budgets (
    target   TEXT PRIMARY KEY,
    revision INTEGER NOT NULL
);

-- Short names, to find an alert without reading all open ones. Those that are stored already get theirs when they change.
ALTER TABLE alerts ADD COLUMN ref TEXT NOT NULL DEFAULT '';
CREATE INDEX alerts_ref ON alerts (ref) WHERE status IN ('firing', 'acknowledged');

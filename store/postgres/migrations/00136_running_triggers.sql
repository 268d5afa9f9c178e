-- +goose Up
-- A trigger can wait for the run of an agent.
DROP INDEX triggers_due;
CREATE INDEX triggers_due ON triggers (partition_no, due) WHERE status IN ('waiting', 'running', 'delivering');

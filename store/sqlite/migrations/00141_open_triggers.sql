-- +goose Up
-- Triggers whose run works are open too. The condition is that of the queries, which else can't use the index.
DROP INDEX triggers_open;
CREATE INDEX triggers_open ON triggers (source, subject) WHERE status IN ('waiting', 'running', 'delivering');

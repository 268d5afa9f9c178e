-- +goose Up
-- The programs that wait for approval.
CREATE INDEX nodes_pending ON nodes (expires) WHERE status = 'pending';

-- +goose Up
-- As long as a table has no statistics, the planner takes the newest of the indexes that cost the same. With
-- sessions_live_activity, each look-up of a session by its key read all live sessions.
DROP INDEX sessions_live_key;
CREATE UNIQUE INDEX sessions_live_key ON sessions (skey) WHERE ended = 0;

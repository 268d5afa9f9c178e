-- +goose Up
-- What retention looks for: events that still say something after their run has gone, and sessions that have ended.
CREATE INDEX events_telling ON events (accepted) WHERE run_id = '' AND (session_id <> '' OR notice_id <> '');
CREATE INDEX sessions_archived ON sessions (id) WHERE ended > 0 AND spawned_by <> '';
CREATE INDEX sessions_ended ON sessions (id) WHERE ended > 0 AND spawned_by = '';

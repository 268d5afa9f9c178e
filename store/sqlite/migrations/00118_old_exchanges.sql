-- +goose Up
-- The key of a request finds its exchange, so that the runs of one that ended long ago may go.
ALTER TABLE exchanges ADD COLUMN request_key TEXT NOT NULL DEFAULT '';
UPDATE exchanges SET request_key = COALESCE((SELECT r.event_key FROM runs r WHERE r.id = exchanges.first_run), '');
CREATE INDEX exchanges_key ON exchanges (request_key) WHERE request_key <> '';

-- What retention looks for: exchanges that have ended and still say something, chains by their age, and what names a run that goes.
CREATE INDEX exchanges_telling ON exchanges (ended, id) WHERE ended > 0 AND chain <> '';
CREATE INDEX chains_started ON chains (started, id);
CREATE INDEX revisions_run ON revisions (run_id);
DELETE FROM revisions WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = revisions.run_id);

-- Sessions that have ended in the order of their age, so that a step looks at no younger ones; and the answers that a session still owes.
DROP INDEX sessions_archived;
DROP INDEX sessions_ended;
CREATE INDEX sessions_archived ON sessions (ended, id) WHERE ended > 0 AND spawned_by <> '';
CREATE INDEX sessions_ended ON sessions (last_activity, id) WHERE ended > 0 AND spawned_by = '';
CREATE INDEX deliveries_owed ON deliveries (session_id) WHERE status IN ('held', 'blocked', 'failed', 'unknown', 'expired');

-- +goose Up
-- Questions are filtered by the channel that they come from, and those that wait are read by the time that is left.
ALTER TABLE approvals ADD COLUMN channel TEXT NOT NULL DEFAULT '';
UPDATE approvals SET channel = COALESCE(
    (SELECT d.channel FROM deliveries d WHERE d.id = approvals.delivery_id),
    (SELECT json_extract(r.route, '$.channel') FROM runs r WHERE r.id = approvals.run_id AND r.route <> ''),
    (SELECT json_extract(s.route, '$.channel') FROM sessions s WHERE s.id = approvals.session_id AND s.route <> ''), '');
CREATE INDEX approvals_waiting ON approvals (status, expires, id);
CREATE INDEX approvals_channel_waiting ON approvals (channel, status, expires, id);
CREATE INDEX approvals_channel ON approvals (channel, created, id);
CREATE INDEX approvals_messages ON approvals (created, id) WHERE delivery_id <> '';

-- +goose Up
-- The conversation tree is read beside its selected thread: what answers a message, and the summaries that stand beside it.
CREATE INDEX messages_tree ON messages (session_id, parent, seq) WHERE role <> 'summary';
CREATE INDEX messages_summaries ON messages (session_id, parent, seq) WHERE role = 'summary';

-- +goose Up
-- What the files of a session take is counted before one more is stored: the index alone answers that.
DROP INDEX media_session;
CREATE INDEX media_session ON media (session_id, size);

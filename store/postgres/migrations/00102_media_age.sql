-- +goose Up
-- How long files are kept is a setting, so they have an age and no date at which they expire. A session's files go with it.
DROP INDEX media_expires;
ALTER TABLE media DROP COLUMN expires;
CREATE INDEX media_created ON media (created);
CREATE INDEX media_session ON media (session_id);

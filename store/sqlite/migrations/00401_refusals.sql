-- +goose Up
-- Who wrote and was not heard: when, where and why.
CREATE TABLE refusals (
    id        TEXT PRIMARY KEY,
    channel   TEXT NOT NULL,
    account   TEXT NOT NULL,
    chat_type TEXT NOT NULL,
    chat      TEXT NOT NULL,
    title     TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    user_name TEXT NOT NULL,
    reason    TEXT NOT NULL,
    level     INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    times     INTEGER NOT NULL,
    first     INTEGER NOT NULL,
    last      INTEGER NOT NULL
);
CREATE INDEX refusals_last ON refusals (last, id);

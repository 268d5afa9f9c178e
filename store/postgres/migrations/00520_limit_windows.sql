-- +goose Up
-- How many messages and requests were counted since a window began, for each level: of this level and lower ones.
CREATE TABLE limit_windows (
    kind    TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    level   SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    started BIGINT NOT NULL,
    used    BIGINT NOT NULL,
    PRIMARY KEY (kind, name, level)
);
CREATE INDEX limit_windows_started ON limit_windows (started);

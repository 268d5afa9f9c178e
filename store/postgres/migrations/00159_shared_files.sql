-- +goose Up
-- Shared files of agents that may have the words of strangers. Sessions from before see their own folder alone, as they did.
CREATE TABLE file_marks (
    agent TEXT COLLATE "C" NOT NULL,
    path  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (agent, path)
);
UPDATE sessions SET file_access = '{"read":[],"write":[]}';

-- +goose Up
-- Up to where the events of an account are durable, for platforms that do not keep count themselves.
CREATE TABLE cursors (
    account TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    value   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account, name)
);

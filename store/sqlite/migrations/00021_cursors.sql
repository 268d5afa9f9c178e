-- +goose Up
-- Up to where the events of an account are durable, for platforms that do not keep count themselves.
CREATE TABLE cursors (
    account TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (account, name)
) WITHOUT ROWID;

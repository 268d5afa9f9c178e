-- +goose Up
-- Tokens of the API that were made at run time, browsers that were signed in, and when both were last used.
CREATE TABLE api_tokens (
    id      TEXT PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    sum     TEXT NOT NULL UNIQUE,
    role    TEXT NOT NULL,
    level   INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    made_by TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL
);
CREATE TABLE sign_ins (
    id       TEXT PRIMARY KEY,
    token    TEXT NOT NULL,
    print    TEXT NOT NULL,
    link     TEXT NOT NULL,
    cookie   TEXT NOT NULL,
    page_key TEXT NOT NULL,
    address  TEXT NOT NULL,
    agent    TEXT NOT NULL,
    created  INTEGER NOT NULL,
    expires  INTEGER NOT NULL
);
CREATE UNIQUE INDEX sign_ins_cookie ON sign_ins (cookie) WHERE cookie <> '';
CREATE UNIQUE INDEX sign_ins_link ON sign_ins (link) WHERE link <> '';
CREATE INDEX sign_ins_token ON sign_ins (token, created);
CREATE TABLE api_uses (
    subject TEXT PRIMARY KEY,
    used    INTEGER NOT NULL
);

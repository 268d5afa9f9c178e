-- +goose Up
-- Tokens of the API that were made at run time, browsers that were signed in, and when both were last used.
CREATE TABLE api_tokens (
    id      TEXT COLLATE "C" PRIMARY KEY,
    name    TEXT COLLATE "C" NOT NULL UNIQUE,
    sum     TEXT COLLATE "C" NOT NULL UNIQUE,
    role    TEXT NOT NULL,
    level   SMALLINT NOT NULL CHECK (level BETWEEN 1 AND 4),
    made_by TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE TABLE sign_ins (
    id       TEXT COLLATE "C" PRIMARY KEY,
    token    TEXT COLLATE "C" NOT NULL,
    print    TEXT NOT NULL,
    link     TEXT COLLATE "C" NOT NULL,
    cookie   TEXT COLLATE "C" NOT NULL,
    page_key TEXT NOT NULL,
    address  TEXT NOT NULL,
    agent    TEXT NOT NULL,
    created  BIGINT NOT NULL,
    expires  BIGINT NOT NULL
);
CREATE UNIQUE INDEX sign_ins_cookie ON sign_ins (cookie) WHERE cookie <> '';
CREATE UNIQUE INDEX sign_ins_link ON sign_ins (link) WHERE link <> '';
CREATE INDEX sign_ins_token ON sign_ins (token, created);
CREATE TABLE api_uses (
    subject TEXT COLLATE "C" PRIMARY KEY,
    used    BIGINT NOT NULL
);

-- +goose Up
-- The owner's word on whether a group must mention the bot; empty follows the configuration.
ALTER TABLE sessions ADD COLUMN group_activation TEXT NOT NULL DEFAULT '';

-- What was said by whom is known by the platform's id, so that it can be taken back.
ALTER TABLE history ADD COLUMN message_id TEXT NOT NULL DEFAULT '';

-- The newest run of a message that was edited.
CREATE TABLE revisions (
    lane       TEXT NOT NULL,
    message_id TEXT NOT NULL,
    run_id     TEXT NOT NULL,
    PRIMARY KEY (lane, message_id)
) WITHOUT ROWID;

-- What bots said in a place since a person last spoke there.
CREATE TABLE bot_turns (
    place   TEXT PRIMARY KEY,
    turns   TEXT NOT NULL,
    stopped INTEGER NOT NULL
) WITHOUT ROWID;

-- Whose a direct chat is, on platforms where it has an id of its own.
CREATE TABLE direct_peers (
    channel      TEXT NOT NULL,
    account      TEXT NOT NULL,
    conversation TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    PRIMARY KEY (channel, account, conversation)
) WITHOUT ROWID;

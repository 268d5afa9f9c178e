-- +goose Up
-- The owner's word on whether a group must mention the bot; empty follows the configuration.
ALTER TABLE sessions ADD COLUMN group_activation TEXT COLLATE "C" NOT NULL DEFAULT '';

-- What was said by whom is known by the platform's id, so that it can be taken back.
ALTER TABLE history ADD COLUMN message_id TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The newest run of a message that was edited.
CREATE TABLE revisions (
    lane       TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (lane, message_id)
);

-- What bots said in a place since a person last spoke there.
CREATE TABLE bot_turns (
    place   TEXT COLLATE "C" PRIMARY KEY,
    turns   TEXT COLLATE "C" NOT NULL,
    stopped BIGINT NOT NULL
);

-- Whose a direct chat is, on platforms where it has an id of its own.
CREATE TABLE direct_peers (
    channel      TEXT COLLATE "C" NOT NULL,
    account      TEXT COLLATE "C" NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (channel, account, conversation)
);

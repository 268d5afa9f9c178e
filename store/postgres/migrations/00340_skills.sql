-- +goose Up
-- What the owner has said about the skills of agents: which content it is about, how secret it is, and whether it is trusted.
CREATE TABLE skill_pins (
    agent     TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    digest    TEXT NOT NULL,
    level     INTEGER NOT NULL,
    trust     INTEGER NOT NULL,
    source    TEXT NOT NULL,
    pinned_by TEXT NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (agent, name)
);

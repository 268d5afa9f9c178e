-- +goose Up
-- API keys and models that have failed, and until when they are not asked; ends 0: until a person clears it.
CREATE TABLE model_cooldowns (
    provider TEXT NOT NULL,
    api_key  TEXT NOT NULL,
    model    TEXT NOT NULL,
    mark     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    step     INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    ends     INTEGER NOT NULL,
    probed   INTEGER NOT NULL,
    PRIMARY KEY (provider, api_key, model)
);

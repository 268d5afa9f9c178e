-- +goose Up
-- API keys and models that have failed, and until when they are not asked; ends 0: until a person clears it.
CREATE TABLE model_cooldowns (
    provider TEXT COLLATE "C" NOT NULL,
    api_key  TEXT COLLATE "C" NOT NULL,
    model    TEXT COLLATE "C" NOT NULL,
    mark     TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    step     BIGINT NOT NULL,
    since    BIGINT NOT NULL,
    ends     BIGINT NOT NULL,
    probed   BIGINT NOT NULL,
    PRIMARY KEY (provider, api_key, model)
);

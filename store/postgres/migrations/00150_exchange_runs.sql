-- +goose Up
-- The steps of an exchange.
CREATE INDEX runs_exchange ON runs (exchange_id, seq) WHERE exchange_id <> '';

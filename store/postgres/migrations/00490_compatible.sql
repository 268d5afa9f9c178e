-- +goose Up
-- Programs whose newest migration is this one or a later one can use the database, although it has migrations that they
-- do not know. A migration that takes away or changes what older programs use raises it, to the first migration whose
-- programs do without.
CREATE TABLE schema_compatible (since BIGINT NOT NULL);
INSERT INTO schema_compatible (since) VALUES (490);

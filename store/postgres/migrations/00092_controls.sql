-- +goose Up
-- The gateway's own buttons, the question that they answer until their message was seen to, and the delivery whose message a delivery changes.
ALTER TABLE deliveries ADD COLUMN controls TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN asks TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN revises TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX deliveries_asks ON deliveries (seq) WHERE asks <> '';

-- +goose Up
-- Why a call has to be decided about, who may decide and what no decision means; and the delivery, where it is about one.
ALTER TABLE approvals ADD COLUMN why TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN terms TEXT NOT NULL DEFAULT '{}';
ALTER TABLE approvals ADD COLUMN delivery_id TEXT NOT NULL DEFAULT '';

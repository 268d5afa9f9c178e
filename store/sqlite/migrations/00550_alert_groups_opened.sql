-- +goose Up
-- The list of open groups of alerts, those that opened last first.
CREATE INDEX alert_groups_opened ON alert_groups (created, group_key) WHERE open = 1;

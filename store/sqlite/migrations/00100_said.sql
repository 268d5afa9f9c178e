-- +goose Up
-- Who has set a text knew something: its label, "LEVEL/trust". Empty, of what an earlier version has stored: as secret as the row.
ALTER TABLE sessions ADD COLUMN model_said TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN title_said TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN label_said TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN reason_said TEXT NOT NULL DEFAULT '';

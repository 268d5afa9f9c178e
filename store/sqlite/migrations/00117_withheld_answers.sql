-- +goose Up
-- Answers that may not be told: who asks for one over the API is told by which delivery's decision. Ordinary answers are not in it.
CREATE INDEX deliveries_withheld ON deliveries (run_id) WHERE status IN ('held', 'blocked', 'expired');

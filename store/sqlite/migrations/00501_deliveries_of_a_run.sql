-- +goose Up
-- The deliveries of a run, however old it is. The index of those that were withheld is a part of it.
CREATE INDEX deliveries_run ON deliveries (run_id, seq);
DROP INDEX deliveries_withheld;

package store

import (
	"context"
	"errors"
	"fmt"

	"sluice/sessions"
	"sluice/store/engine"
)

// FixPartitions makes sure that the number of partitions is still n, as when the store was new. Otherwise work in a
// partition that no longer exists would wait forever, and a conversation could get two owners. The row of the last
// partition states the number.
func (db partitionTable) FixPartitions(ctx context.Context, n int) error {
	for range 2 {
		var last int
		err := db.One(ctx, `SELECT id FROM partitions ORDER BY id DESC LIMIT 1`, nil, &last)
		switch {
		case err == nil && last+1 == n:
			return nil
		case err == nil:
			return &engine.Unavailable{
				Reason: fmt.Sprintf("its work is divided into %d partitions, but the configuration says %d", last+1, n),
				Fix:    fmt.Sprintf("set limits.partitions to %d", last+1),
			}
		case !errors.Is(err, sessions.ErrNotFound):
			return fmt.Errorf("read partitions: %w", err)
		}
		first := engine.Statement{SQL: `INSERT INTO partitions (owner, id, epoch) VALUES ('', ?, 0)`, Args: []any{n - 1}, Duplicate: sessions.ErrConflict}
		if err := db.Change(ctx, engine.Write{first}); err != nil && !errors.Is(err, sessions.ErrConflict) {
			return fmt.Errorf("store number of partitions: %w", err)
		}
	}
	return fmt.Errorf("fix partitions: %w", sessions.ErrConflict)
}

// PartitionEpoch implements [ledger.Partitions].
func (db partitionTable) PartitionEpoch(ctx context.Context, partition int) (int64, error) {
	var epoch int64
	err := db.One(ctx, `SELECT epoch FROM partitions WHERE id = ?`, []any{partition}, &epoch)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return 0, fmt.Errorf("read epoch of partition %d: %w", partition, err)
	}
	return epoch, nil
}

// TakePartition implements [ledger.Partitions].
func (db partitionTable) TakePartition(ctx context.Context, partition int, owner string, epoch int64) (int64, error) {
	take := engine.Statement{
		SQL: `INSERT INTO partitions (owner, id, epoch) VALUES (?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch WHERE partitions.epoch = excluded.epoch - 1`,
		Args: []any{owner, partition, epoch + 1}, Else: sessions.ErrConflict,
	}
	return epoch + 1, db.Change(ctx, engine.Write{take})
}
